// Search and ask with fetch: node ask.mts 'सम्पत्ति कर कहिलेसम्म तिर्ने?' (Node 22.18 or newer, Deno, Bun)

type Hit = { source: string; page_first: number; text: string };
type Citation = { marker: number; source: string; quote: string };
type Failure = { detail: string; code: string; request_id: string };

const url: string = process.env.RAG_URL ?? "http://localhost:8080";
const question: string = process.argv[2] ?? "सम्पत्ति कर कहिलेसम्म तिर्ने?";

async function post(path: string, body: object): Promise<Response> {
  const answer = await fetch(url + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env.RAG_KEY ?? ""}` },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(((await answer.json()) as Failure).detail);
  return answer;
}

async function* events(answer: Response): AsyncGenerator<[string, any]> {
  let text = "";
  for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const [name, data] = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      yield [name.slice("event: ".length), JSON.parse(data.slice("data: ".length))];
    }
  }
}

// Passages
const { hits } = (await (await post("/v1/search", { query: question, k: 1 })).json()) as { hits: Hit[] };
for (const hit of hits) console.log(`${hit.source}, page ${hit.page_first}: ${hit.text}`);

// An answer, word by word
for await (const [name, event] of events(await post("/v1/ask", { question, stream: true }))) {
  if (name === "delta") process.stdout.write(event.text);
  if (name === "error") throw new Error((event as Failure).detail);
  if (name === "answer") {
    console.log();
    for (const one of event.citations as Citation[]) console.log(`[${one.marker}] ${one.source}: ${one.quote}`);
  }
}
