"""A page's answer as one HTML file for a lab notebook or an appendix: what is in it, and how it is written."""
