"""What a run looks like: tables, a page that needs nothing else, pictures.

Every module takes what ``leaderboard`` and ``compare`` computed; nothing is measured or tested here.
"""
