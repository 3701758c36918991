"""Admits content that begins with a word."""
import json
import sys


def say(**members):
    print(json.dumps(members), flush=True)


word = json.loads(sys.stdin.readline())["options"]["word"]
if not word:
    say(refuse="option 'word' is empty; give it a word")
    sys.exit(1)
say(repeatable="", ready=True)
for line in sys.stdin:
    attachment = json.loads(line)["attachment"]
    with open(attachment["content"], "rb") as content:
        start = content.read(len(word.encode()))
    if start == word.encode():
        say(annotate={"greeting.word": word}, verdict="pass")
    else:
        say(verdict="reject", code="wrong-word", message=f"the content does not begin with '{word}'")
