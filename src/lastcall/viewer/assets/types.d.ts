// The shapes of what `viewer.entries` and `viewer.pages` send. For the type checker alone; no page holds this file.
type Tone = "" | "good" | "bad" | "warn" | "held" | "calm";
interface Line { d?: number; t?: string; m?: string[]; s?: "+" | "-" | "~" }
interface Part {
  form: "prose" | "code" | "json" | "changes" | "points";
  label?: string; text?: string; lines?: Line[]; points?: string[]; at?: number; left_out?: number; unit?: string;
}
interface Entry {
  place: number; kind: string; run: number; at: number; turn?: number; title?: string; name?: string; summary?: string;
  word?: string; tone?: Tone; took_ms?: number; facts?: string[]; parts?: Part[]; open?: boolean; gone?: boolean; pending?: boolean;
}
interface Dot { n: number; word: string; tone: Tone; place: number }
interface Verdict { name: string; passed: boolean; message?: string; took_ms?: number; attempt?: number }
interface RunFacts {
  number: number; prompt: string; at: number; ended_at?: number; outcome?: string; word?: string; tone?: Tone; reason?: string;
  models?: string[]; turns?: number; calls?: number; attempts?: Dot[]; input_tokens?: number; output_tokens?: number;
  cost_usd?: number; answer?: Part; checks?: Verdict[]; warnings?: string[]; effects?: string[];
}
interface SessionFacts {
  session_id: string; title?: string; model?: string; profile?: string; version?: string; cwd?: string; digest?: string;
  rules?: string[]; note?: string;
}
interface Keyword { word: string; value?: string; checked?: boolean; decoders?: string[]; note?: string }
interface SchemaNode {
  path: string; depth: number; name: string; role?: string; type?: string; required?: boolean; description?: string; keywords?: Keyword[];
}
interface ContractFacts {
  title?: string; dialect?: string; digest?: string; wrapped?: boolean; nodes?: SchemaNode[]; without?: string[]; rules?: string[]; fault?: string;
}
interface Changes { session?: SessionFacts; contract?: ContractFacts; runs?: RunFacts[]; entries?: Entry[]; live?: boolean }
interface Row {
  id: string; prompt?: string; word?: string; tone?: Tone; model?: string; place?: string; at: number; size_bytes?: number; note?: string;
}
interface Listing { runs: Row[]; left_out?: number }
interface Source { kind: "embedded" | "served"; base?: string; bearer?: boolean; exports?: boolean }
interface Values { source: Source; session?: string; story?: Changes; listing?: Listing }
interface Session { facts: SessionFacts; contract: ContractFacts | null; runs: RunFacts[]; entries: Entry[]; live: boolean }
type Child = Node | string | number | null | undefined | false | Child[];
