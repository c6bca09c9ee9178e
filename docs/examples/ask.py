"""Search, ask and list with httpx: python ask.py 'सम्पत्ति कर कहिलेसम्म तिर्ने?'"""

import json
import os
import sys

import httpx

question = sys.argv[1] if len(sys.argv) > 1 else "सम्पत्ति कर कहिलेसम्म तिर्ने?"
key = os.environ.get("RAG_KEY")
rag = httpx.Client(
    base_url=os.environ.get("RAG_URL", "http://localhost:8080"),
    headers={"Authorization": f"Bearer {key}"} if key else {},
    timeout=120,
)

# Passages
found = rag.post("/v1/search", json={"query": question, "k": 1}).raise_for_status().json()
for hit in found["hits"]:
    print(f"{hit['source']}, page {hit['page_first']}: {hit['text']}")

# An answer, word by word
with rag.stream("POST", "/v1/ask", json={"question": question, "stream": True}) as answer:
    answer.raise_for_status()
    event = ""
    for line in answer.iter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            event = value
        elif field == "data" and event == "delta":
            print(json.loads(value)["text"], end="", flush=True)
        elif field == "data" and event == "answer":
            print()
            for citation in json.loads(value)["citations"]:
                print(f"[{citation['marker']}] {citation['source']}: {citation['quote']}")
        elif field == "data" and event == "error":
            sys.exit(json.loads(value)["detail"])

# All documents, in parts of 100
cursor = None
while True:
    part = rag.get("/v1/documents", params={"limit": 100, **({"cursor": cursor} if cursor else {})}).json()
    for document in part["documents"]:
        print(f"{document['status']} {document['source']}")
    if (cursor := part["next_cursor"]) is None:
        break
