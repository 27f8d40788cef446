"""An MCP server that counts what it was asked to do, outside of itself: a line `turn key` in the file that is named."""

import json
import os
import sys

tally = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    params = message.get("params", {})
    if message["method"] == "initialize":
        about = {"name": "tally", "version": "1"}
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    elif message["method"] == "tools/list":
        schema = {"type": "object", "properties": {"turn": {"type": "integer"}}}
        result = {"tools": [{"name": "count", "inputSchema": schema}]}
    else:
        os.write(tally, f"{params['arguments']['turn']} {params['_meta']['lastcall/idempotencyKey']}\n".encode())
        result = {"content": [{"type": "text", "text": "counted"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
