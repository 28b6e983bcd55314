// A provider in Node.js that answers before it reads: one JSON line per request that it saw.
const http = require("http");
const answer = process.argv[2];
const tell = (what) => process.stdout.write(JSON.stringify(what) + "\n");
const server = http.createServer((request, response) => {
  const status = request.headers["user-agent"] === "refuse" ? 400 : 200;
  response.writeHead(status, { "Content-Type": "application/json", "Request-Id": "upstream" });
  response.end(answer);
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("error", () => tell({ broken: "in its body" }));
  request.on("end", () => {
    const { method, url, rawHeaders } = request;
    const headers = [];
    for (let i = 0; i < rawHeaders.length; i += 2) headers.push([rawHeaders[i], rawHeaders[i + 1]]);
    tell({ method, url, headers, body: Buffer.concat(pieces).toString("latin1") });
  });
});
server.on("clientError", (error, socket) => {
  if (error.code !== "ECONNRESET") tell({ broken: error.code });
  socket.destroy();
});
server.listen(0, "127.0.0.1", () => tell({ port: server.address().port }));
