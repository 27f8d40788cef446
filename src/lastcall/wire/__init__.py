"""Pure codecs: bytes and dicts to nouns and back.

`json`, `sse`: the two notations. `dialect`, `params`: what a deployment accepts and how it is asked. `anthropic`,
`openai`: requests; `anthropic_reply`, `openai_reply`: replies, both saying what they hear in the words of `reply`.
`failure`: what an HTTP answer that is no reply means. Nothing here opens, waits for or times anything.
"""
