"""A conversation by OpenAI's client: python chat.py 'सम्पत्ति कर कहिलेसम्म तिर्ने?' 'अनि शुल्क?'"""

import os
import sys

from openai import OpenAI

questions = sys.argv[1:] or ["सम्पत्ति कर कहिलेसम्म तिर्ने?", "त्यो ढिलो तिर्नेलाई कति जरिवाना लाग्छ?"]
client = OpenAI(
    base_url=os.environ.get("RAG_URL", "http://localhost:8080") + "/v1",
    api_key=os.environ.get("RAG_KEY") or "none",
)

messages = []
for question in questions:
    messages.append({"role": "user", "content": question})
    answer = ""
    for chunk in client.chat.completions.create(model="rag", messages=messages, stream=True):
        words = chunk.choices[0].delta.content or ""
        print(words, end="", flush=True)
        answer += words
    print("\n")
    messages.append({"role": "assistant", "content": answer})
