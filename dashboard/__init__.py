"""The dashboard: a pure part (catalogue, comparison, jobs, export, figures) and thin Streamlit pages."""
