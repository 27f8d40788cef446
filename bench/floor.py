"""The bare-bones contestant: what a person writes who needs one request and one reply, and nothing else.

    floor.py BASE_URL SCHEMA_FILE

It sends one POST, reads one reply and prints the arguments of the tool call. No streaming, no checking, no retries.
"""

import json
import sys

import httpx2

base_url, schema_file = sys.argv[1:]
with open(schema_file) as file:  # noqa: PTH123 -- pathlib is an import more
    schema = json.load(file)
body = {
    "model": "claude-haiku-4-5-20251001",
    "max_tokens": 1024,
    "messages": [{"role": "user", "content": "Describe the incident."}],
    "tools": [{"name": "StructuredOutput", "description": "Hand over the result.", "input_schema": schema}],
    "tool_choice": {"type": "tool", "name": "StructuredOutput"},
}
headers = {"x-api-key": "sk-test", "anthropic-version": "2023-06-01"}
with httpx2.Client(timeout=60) as client:
    reply = client.post(f"{base_url}/v1/messages", json=body, headers=headers).raise_for_status().json()
call = next(block for block in reply["content"] if block["type"] == "tool_use")
print(json.dumps(call["input"]))
