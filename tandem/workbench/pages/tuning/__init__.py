"""The report of `tandem tune`: one HTML page that works offline."""
