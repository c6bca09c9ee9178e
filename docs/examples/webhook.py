"""Hear of new generations: RAG_WEBHOOK_SECRET=whsec_... python webhook.py 9000"""

import base64
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

key = base64.b64decode(os.environ["RAG_WEBHOOK_SECRET"].removeprefix("whsec_"))
seen = set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        message, sent_at = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        digest = hmac.digest(key, f"{message}.{sent_at}.".encode() + body, "sha256")
        signature = "v1," + base64.b64encode(digest).decode()
        is_ours = hmac.compare_digest(signature, self.headers["webhook-signature"])
        is_ours = is_ours and abs(time.time() - int(sent_at)) < 300
        self.send_response(204 if is_ours else 401)
        self.end_headers()
        if is_ours and message not in seen:  # the same message may come twice
            seen.add(message)
            told = json.loads(body)["data"]
            print(f"{told['collection']}: generation {told['generation']}", flush=True)

    def log_message(self, *args):
        pass


server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
