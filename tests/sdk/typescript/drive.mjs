// One conversation with the client, told by a JSON object on stdin; every message goes to stdout as a line of JSON.
import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

const asked = JSON.parse(await new Promise((done) => {
  let text = "";
  process.stdin.on("data", (piece) => (text += piece)).on("end", () => done(text));
}));

const options = { ...asked.options, env: { ...process.env, ...asked.env } };
if (asked.server) {
  const add = tool("add", "Adds two numbers.", { a: z.number(), b: z.number() }, async ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }],
  }));
  options.mcpServers = { calc: createSdkMcpServer({ name: "calc", version: "1.0.0", tools: [add] }) };
}
if (asked.decide) {
  options.canUseTool = async (name, input) =>
    asked.decide.behavior === "deny" ? asked.decide : { behavior: "allow", updatedInput: asked.decide.updatedInput ?? input };
}
if (asked.deny_first) {
  let denied = false;
  const hook = async (input) => {
    if (denied) return {};
    denied = true;
    const decision = { permissionDecision: "deny", permissionDecisionReason: asked.deny_first };
    return { hookSpecificOutput: { hookEventName: input.hook_event_name, ...decision } };
  };
  options.hooks = { PreToolUse: [{ matcher: "StructuredOutput", hooks: [hook] }] };
}

async function* prompts() {
  for (const words of asked.prompts) {
    yield { type: "user", message: { role: "user", content: words }, parent_tool_use_id: null, session_id: "" };
  }
}

const conversation = query({ prompt: asked.prompts ? prompts() : asked.prompt, options });
try {
  for await (const message of conversation) console.log(JSON.stringify(message));
} catch (error) {
  console.log(JSON.stringify({ type: "thrown", message: String(error?.message ?? error) }));
}
