"""Pictures of layouts: what `nvgen draw` shows, as SVG, as text and as JSON."""
