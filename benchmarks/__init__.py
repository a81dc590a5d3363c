"""Speed and quality against peers, and what they gave: `python -m benchmarks.train`, `.decode`, …"""
