#!/bin/sh
# Search and ask with curl: sh search.sh 'सम्पत्ति कर कहिलेसम्म तिर्ने?'
set -eu
url=${RAG_URL:-http://localhost:8080}
question=${1:-सम्पत्ति कर कहिलेसम्म तिर्ने?}

rag() { curl -sSf -H "Authorization: Bearer ${RAG_KEY:-}" "$@"; echo; }

# Passages. The address can be kept: with the ETag of its answer it costs nothing until a new generation comes.
rag -G "$url/v1/search" --data-urlencode "q=$question" -d k=1

# An answer with checked citations.
rag "$url/v1/ask" -H 'Content-Type: application/json' -d "{\"question\": \"$question\"}"
