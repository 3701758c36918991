# Admits content that begins with a word. Words with quotation marks or backslashes take a parser of JSON, such as jq.
read -r setup
word=$(printf '%s\n' "$setup" | sed 's/.*"word":"\([^"]*\)".*/\1/')
if [ -z "$word" ]; then
  echo '{"refuse":"option '\''word'\'' is empty; give it a word"}'
  exit 1
fi
echo '{"repeatable":"","ready":true}'
while read -r attachment; do
  start=$(head -c ${#word} <&3 | tr '\0' '\n')
  if [ "$start" = "$word" ]; then
    printf '{"annotate":{"greeting.word":"%s"},"verdict":"pass"}\n' "$word"
  else
    printf '{"verdict":"reject","code":"wrong-word","message":"the content does not begin with '\''%s'\''"}\n' "$word"
  fi
done
