"""A small MCP server for tests, without a library, so that it starts at once."""

import json
import os
import sys

NAMES = ("add", "refuse", "die", "hang", "flood", "whoami")


def call(name, arguments, meta):
    """The text of an answer; `None`: never."""
    match name:
        case "add":
            return json.dumps([arguments["a"], arguments["b"], arguments["a"] + arguments["b"]])
        case "die":
            os._exit(3)
        case "hang":
            return None
        case "flood":
            return "x" * arguments["size"]
        case _:
            return json.dumps({"meta": meta, "env": dict(os.environ)})


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    params = message.get("params", {})
    if message["method"] == "initialize":
        about = {"name": "plain", "version": "1"}
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]}
    elif params.get("name") == "refuse":
        result = {"isError": True, "content": [{"type": "text", "text": "no such thing"}]}
    else:
        answer = call(params["name"], params.get("arguments", {}), params.get("_meta", {}))
        if answer is None:
            continue
        result = {"content": [{"type": "text", "text": answer}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
