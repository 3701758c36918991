extension BadFile {
  /// Files of cases with errors in their expectations.
  static let expectations = table(
    #"""
    === an expectation misspelt
    stage: size
    cases:
    - name: x
      expct: { verdict: pass }
    > 4:3: unknown key 'expct'; did you mean 'expect'?

    === an expectation that is no map
    stage: size
    cases:
    - name: x
      expect: pass
    - name: y
      expect:
    - name: z
      expect: [pass]
    > 4:11: 'expect' takes a map, not 'pass'; write '{ verdict: pass }'
    > 6:10: 'expect' takes a map, not nothing; write '{ verdict: pass }'
    > 8:11: 'expect' takes a map, not a list; write '{ verdict: pass }'

    === keys nobody knows
    stage: size
    cases:
    - name: x
      mediatype: a/b
      loud: true
      expect: { verdct: pass, loud: true }
    > 4:3: unknown key 'mediatype'; did you mean 'media-type'?
    > 5:3: unknown key 'loud'; the keys here are: name, input, file-name, declared-type, media-type, metadata, attempt, files, expect, options, timeout, memory, twin, outcome, reason, event, link
    > 6:13: unknown key 'verdct'; did you mean 'verdict'?
    > 6:27: unknown key 'loud'; the keys here are: refused, verdict, produced, code, message, media-type, metadata, metadata-includes, events, derived, children, location, files, within

    === keys of a pipeline's case in a stage's
    stage: size
    cases:
    - name: x
      stages: {}
      expect: { outcome: completed, path: [mime] }
    > 4:3: unknown key 'stages'; it is for cases of a pipeline
    > 5:13: unknown key 'outcome'; it is expected of a pipeline
    > 5:33: unknown key 'path'; it is expected of a pipeline

    === keys of a stage's case in a pipeline's
    pipeline: p.yaml
    cases:
    - name: x
      options: {}
      expect: { verdict: pass }
    > 4:3: unknown key 'options'; it is for cases of a stage
    > 5:13: unknown key 'verdict'; it is expected of a stage

    === a verdict there is not
    stage: size
    cases:
    - name: x
      expect: { verdict: passed }
    - name: y
      expect: { verdict: [pass] }
    > 4:22: 'verdict' knows no 'passed'; did you mean 'pass'?
    > 6:22: 'verdict' takes one value, not a list; write 'verdict: pass'

    === an outcome there is not
    pipeline: p.yaml
    cases:
    - name: x
      expect: { outcome: complete, path: mime }
    > 4:22: 'outcome' knows no 'complete'; did you mean 'completed'?
    > 4:38: 'path' takes a list, not one value; write 'path: [mime]'

    === a refusal with something else
    stage: size
    cases:
    - name: x
      expect: { refused: no, verdict: pass }
    > 4:22: 'refused' stands alone: a stage that does not open says nothing else; remove the other keys

    === metadata of the wrong kind
    stage: size
    cases:
    - name: a
      metadata: [x]
      expect: { metadata: x }
    - name: b
      metadata: { a: [1], b: }
      expect: { metadata: { a: [1] }, metadata-includes: [b] }
    > 4:13: 'metadata' takes a map, not a list; write { key: value }
    > 5:23: 'metadata' takes a map, not 'x'; write { pdf.pages: 3 }, or {} for none
    > 7:18: 'a' is one value, not a list; write a text, a number, true or false
    > 7:26: 'b' is one value, not nothing; write a text, a number, true or false
    > 8:28: 'a' is a value or a pattern, not a list; write a text, or { matches: REGEX }
    > 8:54: 'metadata-includes' takes a map, not a list; write { pdf.pages: 3 }, or {} for none

    === patterns that are none
    stage: size
    cases:
    - name: x
      expect: { code: { matches: "a(" }, message: { matchs: a }, refused: { matches: "[" } }
    - name: y
      expect: { message: [a], metadata: { a: { matches: "*" } } }
    > 4:30: 'a(' is no regular expression: Unmatched ( or \(; write a POSIX extended one, as for 'grep -E'
    > 4:49: unknown key 'matchs'; did you mean 'matches'?
    > 4:71: 'refused' stands alone: a stage that does not open says nothing else; remove the other keys
    > 4:82: '[' is no regular expression: Invalid regular expression; write a POSIX extended one, as for 'grep -E'
    > 6:22: 'message' is a value or a pattern, not a list; write a text, or { matches: REGEX }
    > 6:53: '*' is no regular expression: Invalid preceding regular expression; write a POSIX extended one, as for 'grep -E'

    === effects of the wrong kind
    stage: store
    cases:
    - name: x
      expect: { events: attachment.completed, produced: x, files: [a] }
    - name: y
      expect: { events: [a, { typ: b, to: all }], produced: { sha: a, size: many }, files: { a: { txt: b } } }
    > 4:21: 'events' takes a list, not 'attachment.completed'; write [{ type: attachment.completed }], or [] for none
    > 4:53: 'produced' is a map or 'none', not 'x'; write { sha256: …, size: 120 }
    > 4:63: 'files' takes a map, not a list; write { name: text }, or {} for none
    > 6:22: an event is a map, not 'a'; write { type: attachment.completed }
    > 6:27: unknown key 'typ'; did you mean 'type'?
    > 6:39: 'to' knows no 'all'; the choices are: participants, sender, everyone
    > 6:59: unknown key 'sha'; the keys here are: sha256, size, text
    > 6:73: 'size' wants a whole number, not 'many'; write a value from 0 to 1099511627776
    > 6:95: unknown key 'txt'; did you mean 'text'?

    === an alias
    stage: size
    cases:
    - name: x
      input: *x
      metadata: { a: *x }
      files: { a: *x }
      expect: { code: *x, produced: *x, events: [*x], files: { a: *x } }
    > 4:10: '*x' is an alias, and aliases are not read here; write the value out, or put it in quotes
    > 5:18: '*x' is an alias, and aliases are not read here; write the value out, or put it in quotes
    > 6:15: '*x' is an alias, and aliases are not read here; write the value out, or put it in quotes
    > 7:19: '*x' is an alias, and aliases are not read here; write the value out, or put it in quotes
    > 7:33: '*x' is an alias, and aliases are not read here; write the value out, or put it in quotes
    > 7:46: '*x' is an alias, and aliases are not read here; write the value out, or put it in quotes
    > 7:63: '*x' is an alias, and aliases are not read here; write the value out, or put it in quotes
    """#)
}
