"""Programs for the simulator: FlashAttention-3's warpgroup roles as instruction sequences."""
