"""Benchmarks of speed and translation quality, with their results: `python -m benchmarks.decode`, …"""
