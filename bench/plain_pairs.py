"""The peer of dial-pairs: the script that anyone would write, with orjson."""

import sys

import orjson

windows = [int(w) for w in sys.argv[1].split(",")]
write = sys.stdout.buffer.write
for line in open(sys.argv[2], "rb"):
    dialogue = orjson.loads(line)
    texts = [turn["text"] for turn in dialogue["turns"]]
    speakers = [turn["speaker"] for turn in dialogue["turns"]]
    for response in range(1, len(texts)):
        for window in windows:
            start = response - window
            if start >= 0:
                pair = {
                    "context": texts[start:response],
                    "response": texts[response],
                    "window": window,
                    "kind": "consecutive",
                    "dialogue_id": dialogue["id"],
                    "turn": response,
                    "speakers": speakers[start : response + 1],
                }
                write(orjson.dumps(pair, option=orjson.OPT_APPEND_NEWLINE))
