import Configuration
import Platform
import Testing

/// Rewriting expectations: the new values are there, and nothing else has changed.
struct ExpectationRewriterTests {
  typealias Changes = ExpectationRewriter.Changes

  /// The file with the expectation of the case at this index rewritten.
  private func rewritten(_ text: String, _ changes: Changes, of index: Int = 0) throws -> String {
    let document = try CaseDocumentTests.parse(text)
    var rewriter = ExpectationRewriter(document)
    let change = rewriter.rewrite(document.cases[index].expectation, changes)
    #expect(change != nil)
    _ = try CaseDocument.parse(rewriter.bytes, file: "f")
    return String(decoding: rewriter.bytes, as: UTF8.self)
  }

  /// Compares one expectation before and after; `|` marks its left edge.
  private func expect(_ before: String, _ changes: Changes, _ after: String) throws {
    let head = "# first\nstage: size\ncases:\n  - name: \"ä🎈e\u{301}\"\n    expect: "
    let tail = "\n  - name: b # second\n    expect: { verdict: pass }  # third\n"
    let new = try rewritten(head + before + tail, changes)
    #expect(new.dropFirst(head.count).dropLast(tail.count) == after)
    #expect(new == head + after + tail)
  }

  // MARK: In braces

  @Test func aValueInBracesIsReplaced() throws {
    try expect(
      "{ verdict: pass,  code: 'x' }  # why", [("verdict", .write(.text("reject")))],
      "{ verdict: reject,  code: 'x' }  # why")
  }

  @Test func aKeyInBracesIsAdded() throws {
    try expect(
      "{ verdict: pass }", [("code", .write(.text("a b: c")))], "{ verdict: pass, code: \"a b: c\" }")
    try expect("{}", [("verdict", .write(.text("pass")))], "{ verdict: pass }")
  }

  @Test func aKeyInBracesIsTakenAway() throws {
    let three = "{ verdict: pass, code: x, message: 'a, }b' }"
    try expect(three, [("verdict", nil)], "{ code: x, message: 'a, }b' }")
    try expect(three, [("code", nil)], "{ verdict: pass, message: 'a, }b' }")
    try expect(three, [("message", nil)], "{ verdict: pass, code: x }")
    try expect(three, [("code", nil), ("message", nil)], "{ verdict: pass }")
    try expect(three, [("verdict", nil), ("code", nil), ("message", nil)], "{}")
  }

  @Test func bracesOverSeveralLinesKeepTheirLines() throws {
    try expect(
      "{\n      verdict: pass,  # it's so\n      code: x\n    }", [("code", .write(.text("z")))],
      "{\n      verdict: pass,  # it's so\n      code: z\n    }")
  }

  @Test func whatGetsTooLongForALineGetsALineForEachKey() throws {
    let long = String(repeating: "long ", count: 15) + "text"
    try expect(
      "{ verdict: pass, metadata: { a: 'x' } }  # why",
      [("message", .write(.text(long))), ("code", .write(.text("c")))],
      "  # why\n      verdict: pass\n      metadata: { a: 'x' }\n      message: \(long)\n      code: c"
        .replacing(/^  # why/, with: " # why"))
  }

  @Test func inACaseInBracesEverythingStaysInBraces() throws {
    let long = String(repeating: "x", count: 120)
    let text = "{ stage: size, cases: [{ name: a, expect: { verdict: pass } }, { name: b, expect: {} }] }\n"
    #expect(
      try rewritten(text, [("message", .write(.text(long)))])
        == text.replacing("verdict: pass }", with: "verdict: pass, message: \(long) }"))
    #expect(
      try rewritten(text, [("verdict", .write(.text("fail")))], of: 1)
        == text.replacing("expect: {}", with: "expect: { verdict: fail }"))
  }

  // MARK: A line for each key

  @Test func aValueOnItsLineIsReplaced() throws {
    try expect(
      "\n      # above\n      verdict: pass   # beside\n      # between\n      code: x",
      [("verdict", .write(.text("reject")))],
      "\n      # above\n      verdict: reject   # beside\n      # between\n      code: x")
  }

  @Test func aLineIsAdded() throws {
    try expect(
      "\n      verdict: pass  # beside", [("code", .write(.text("x")))],
      "\n      verdict: pass  # beside\n      code: x")
  }

  @Test func aLineIsTakenAway() throws {
    let three =
      "\n      verdict: pass # one\n      # about the code\n      code: x # two\n      message: y # three"
    try expect(
      three, [("verdict", nil)], "\n      # about the code\n      code: x # two\n      message: y # three")
    try expect(
      three, [("code", nil)], "\n      verdict: pass # one\n      # about the code\n      message: y # three")
    try expect(
      three, [("message", nil)], "\n      verdict: pass # one\n      # about the code\n      code: x # two")
    try expect(three, [("verdict", nil), ("code", nil), ("message", nil)], "\n      {} # three")
    try expect(
      three, [("verdict", nil), ("code", nil), ("message", nil), ("refused", .write(.text("z")))],
      "\n      # about the code\n      refused: z")
  }

  @Test func aMapOfSeveralLinesIsRewrittenKeyByKey() throws {
    try expect(
      "\n      metadata:\n        a: 1  # one\n        b: { matches: '^x' }\n        c: \"3\"\n      verdict: pass",
      [("metadata", .entries([("a", .write(.plain("2"))), ("b", .keep), ("d", .write(.text("4")))]))],
      "\n      metadata:\n        a: 2  # one\n        b: { matches: '^x' }\n        d: \"4\"\n      verdict: pass"
    )
  }

  @Test func aMapInBracesIsRewrittenKeyByKey() throws {
    try expect(
      "\n      metadata: { a: 1, b: { matches: '^x' } }  # so\n      verdict: pass",
      [("metadata", .entries([("a", .write(.plain("2"))), ("b", .keep)]))],
      "\n      metadata: { a: 2, b: { matches: '^x' } }  # so\n      verdict: pass")
  }

  @Test func aTextOfSeveralLinesIsReplacedAndKept() throws {
    try expect(
      "\n      message: |\n        one\n        two\n\n      verdict: pass",
      [("verdict", .write(.text("fail")))],
      "\n      message: |\n        one\n        two\n\n      verdict: fail")
    try expect(
      "\n      message: |\n        one\n        two\n      verdict: pass", [("message", .write(.text("x")))],
      "\n      message: x\n      verdict: pass")
    try expect(
      "\n      verdict: pass\n      message: >-\n        one\n        two\n",
      [("message", .write(.text("x")))],
      "\n      verdict: pass\n      message: x\n")
  }

  @Test func aLongMapGetsALineForEachKey() throws {
    let long = String(repeating: "long ", count: 10)
    let values = YAMLValue.map([
      "a": .text(long + "a"), "b": .text(long + "b"), "c": .map(["matches": .text("x")]),
    ])
    try expect(
      "\n      verdict: pass", [("metadata", .write(values))],
      "\n      verdict: pass\n      metadata:\n        a: \(long)a\n        b: \(long)b\n        c: { matches: x }"
    )
  }

  @Test(arguments: [
    "\n      ? code\n      : x\n      ? verdict\n      : pass",
    "\n      code: x\n      ? verdict\n      : pass",
    "\n      ?\n        code\n      : x\n      verdict: pass",
    "\n      code: x\n      verdict: pass\n      metadata:\n        ? a\n        : 1",
    "\n      code: x\n      verdict: pass\n      events:\n      - ? type\n        : a",
  ])
  func keysBehindAQuestionMarkAreLeftToAPerson(expectation: String) throws {
    let text = "stage: size\ncases:\n  - name: a\n    expect: \(expectation)\n"
    let document = try CaseDocumentTests.parse(text)
    for changes: Changes in [
      [("code", nil)], [("verdict", .write(.text("fail")))], [("message", .write(.text("m")))],
    ] {
      var rewriter = ExpectationRewriter(document)
      let change = rewriter.rewrite(document.cases[0].expectation, changes)
      #expect(change == nil)
      #expect(rewriter.bytes == Array(text.utf8))
    }
  }

  @Test func aQuestionMarkInBracesOrInATextIsNone() throws {
    try expect("{ ? code : x, verdict: pass }", [("code", nil)], "{ verdict: pass }")
    try expect(
      "{ ? code : x, verdict: pass }", [("verdict", .write(.text("fail")))], "{ ? code : x, verdict: fail }")
    try expect(
      "# why?\n      code: a? b\n      verdict: pass", [("verdict", .write(.text("fail")))],
      "# why?\n      code: a? b\n      verdict: fail")
  }

  // MARK: Several cases, and files of all kinds

  @Test func severalCasesAreRewrittenFromTheLastToTheFirst() throws {
    let text =
      "stage: size\ncases:\n- name: a\n  expect: {}\n- name: b\n  expect:\n    verdict: pass\n- name: c\n  expect: {}\n"
    let document = try CaseDocumentTests.parse(text)
    var rewriter = ExpectationRewriter(document)
    let metadata = YAMLValue.map(
      (0..<9).map { .init(key: "key.\($0)", value: .text("a value that is long")) })
    for one in document.cases.reversed() {
      let changed = rewriter.rewrite(
        one.expectation, [("verdict", .write(.text("fail"))), ("metadata", .write(metadata))])
      let change = try #require(changed)
      #expect(change.line == one.expectation.line)
      #expect(change.before == [one.name == "b" ? "    verdict: pass" : "  expect: {}"])
      #expect(change.after.count == (one.name == "b" ? 11 : 12))
    }
    let new = String(decoding: rewriter.bytes, as: UTF8.self)
    let cases = try CaseDocument.parse(Array(new.utf8), file: "f").cases
    #expect(cases.map(\.expectation.verdict?.value) == ["fail", "fail", "fail"])
    #expect(
      new.hasPrefix(
        "stage: size\ncases:\n- name: a\n  expect:\n    verdict: fail\n    metadata:\n      key.0: "))
  }

  @Test(arguments: ["\r\n", "\n"])
  func linesEndAsTheyDid(end: String) throws {
    let text = [
      "stage: size", "cases:", "- name: a", "  expect: { verdict: pass }", "- name: b", "  expect: {}", "",
    ]
    #expect(
      try rewritten(text.joined(separator: end), [("verdict", .write(.text("fail")))])
        == text.joined(separator: end).replacing("pass", with: "fail"))
  }

  @Test func aByteOrderMarkStays() throws {
    let text = "\u{FEFF}{ stage: size, cases: [{ name: a, expect: { verdict: pass } }] }\u{85}\u{2028}# end"
    #expect(
      try rewritten(text, [("verdict", .write(.text("fail")))]).utf8.elementsEqual(
        text.replacing("pass", with: "fail").utf8))
  }

  // MARK: At random

  private static let seed = """
    # Cases.
    stage: size
    cases:
      - name: first  # comment
        input: { text: "a\\tb" }
        expect: { verdict: pass, metadata: { a: 1, b: { matches: '^x' } }, within: 5s }
      - name: second
        options: { max: 10B }
        expect:
          verdict: reject   # comment
          # between
          code: too-large
          message: |
            of two
            lines
          metadata-includes:
            a: ~
            b: "x"
          events: [{ type: a, channel: b }]
      - { name: third, expect: { code: { matches: "}{" } } }

    """

  private static func changes(_ random: inout SplitMix) -> Changes {
    ["verdict", "code", "message", "metadata", "location"].compactMap { key in
      switch Int.random(in: 0..<4, using: &random) {
      case 0: return (key, nil)
      case 1 where key == "metadata":
        return (key, .entries([("a", .write(.plain("2"))), ("c", .write(.text("x: y")))]))
      case 2 where key != "metadata" && key != "verdict":
        return (
          key, .write(.text(key + String(repeating: " 'x' #", count: .random(in: 0...20, using: &random))))
        )
      case 2 where key == "verdict": return (key, .write(.text("fail")))
      default: return nil
      }
    }
  }

  /// Rewrites every case at random; the new file must have the new expectations.
  private static func check(_ bytes: [UInt8], _ random: inout SplitMix) {
    guard let document = try? CaseDocument.parse(bytes, file: "f") else { return }
    var rewriter = ExpectationRewriter(document)
    var made: [Changes] = []
    for one in document.cases.reversed() {
      let changes = changes(&random)
      made.insert(rewriter.rewrite(one.expectation, changes) == nil ? [] : changes, at: 0)
    }
    let text = String(decoding: rewriter.bytes, as: UTF8.self)
    do {
      let again = try CaseDocument.parse(rewriter.bytes, file: "f")
      #expect(again.cases.map(\.name) == document.cases.map(\.name))
      for ((old, new), changes) in zip(zip(document.cases, again.cases), made) {
        check(old.expectation, new.expectation, changes, text)
        #expect(new.input == old.input)
      }
    } catch {
      Issue.record("\(error)\n\(String(decoding: bytes, as: UTF8.self))\n---\n\(text)")
    }
  }

  private static func check(
    _ old: Configuration.Expectation, _ new: Configuration.Expectation, _ changes: Changes, _ text: String
  ) {
    func expected(_ key: String, _ before: Configuration.Expectation.Text?) -> Configuration.Expectation.Text?
    {
      guard let change = changes.first(where: { $0.key == key }) else { return before }
      if case .write(.text(let text))? = change.edit { return .exactly(text) }
      return nil
    }
    #expect(
      new.verdict.map { .exactly($0.value) } == expected("verdict", old.verdict.map { .exactly($0.value) }))
    #expect(new.code?.value == expected("code", old.code?.value), "\(text)")
    #expect(new.message?.value == expected("message", old.message?.value), "\(text)")
    #expect(new.location?.value == expected("location", old.location?.value), "\(text)")
    #expect(new.includedKeys == old.includedKeys && new.events?.value == old.events?.value)
    if let change = changes.first(where: { $0.key == "metadata" }) {
      #expect(new.metadata?.value.map(\.key) == (change.edit == nil ? nil : ["a", "c"]), "\(text)")
    } else {
      #expect(new.metadata?.value.map(\.key) == old.metadata?.value.map(\.key))
    }
  }

  @Test func everyRewritingSaysWhatWasToBeSaid() {
    var random = SplitMix(state: 7)
    for _ in 0..<300 { Self.check(Array(Self.seed.utf8), &random) }
  }

  @Test func noPrefixAndNoFlippedByteBreaksTheFile() {
    var random = SplitMix(state: 11)
    let seed = Array(Self.seed.utf8)
    for count in 0...seed.count { Self.check(Array(seed.prefix(count)), &random) }
    for place in seed.indices {
      var bytes = seed
      bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      Self.check(bytes, &random)
    }
  }
}
