"""The rooms of the chapters: what belongs to one chapter only. No room imports another."""
