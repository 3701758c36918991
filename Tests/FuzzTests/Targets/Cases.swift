import Configuration
import Platform

extension FuzzTarget {
  /// A file of cases, and rewriting what they expect.
  static let cases = FuzzTarget(name: "cases") { bytes in
    let document: CaseDocument
    do throws(ConfigurationError) {
      document = try CaseDocument.parse(bytes, file: "c")
    } catch {
      return try check(error.diagnostics, of: bytes)
    }
    try demand(!document.cases.isEmpty, "a file without cases was accepted")
    for one in document.cases {
      for path in one.files.keys { try demand(isBelow(path), "the file \(path) lies elsewhere") }
    }
    // The changes depend on the input alone, so that an input always has the same effect.
    var random = SplitMix(state: bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
    var rewriter = ExpectationRewriter(document)
    var made: [ExpectationRewriter.Changes] = []
    for one in document.cases.reversed() {
      // A refused stage has no other expectations, so none is written.
      var changes = one.expectation.refused == nil ? changes(&random) : []
      // A pipeline has an outcome, and no verdict.
      if case .pipeline = document.subject { changes.removeAll { $0.key == "verdict" } }
      made.insert(rewriter.rewrite(one.expectation, changes) == nil ? [] : changes, at: 0)
    }
    let again: CaseDocument
    do throws(ConfigurationError) {
      again = try CaseDocument.parse(rewriter.bytes, file: "c")
    } catch {
      throw Violation(description: "\(error)\nof the file as it was rewritten:\n\(text(rewriter.bytes))")
    }
    try demand(again.cases.map(\.name) == document.cases.map(\.name), "rewriting changed the cases")
    for ((old, new), changes) in zip(zip(document.cases, again.cases), made) {
      try demand(new.input == old.input && new.files == old.files, "rewriting changed what goes in")
      try check(old.expectation, new.expectation, changes, text(rewriter.bytes))
    }
  }

  private static func isBelow(_ path: String) -> Bool {
    path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
      !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8)
    }
  }

  /// Writes, removes and keeps keys at random. A verdict or a text is written whether or not it exists.
  private static func changes(_ random: inout SplitMix) -> ExpectationRewriter.Changes {
    ["verdict", "code", "message", "location"].compactMap { key in
      switch Int.random(in: 0..<4, using: &random) {
      case 0: (key, nil)
      case 1 where key == "verdict": (key, .write(.text("fail")))
      case 1:
        (key, .write(.text(key + String(repeating: " 'x' #", count: .random(in: 0...20, using: &random)))))
      default: nil
      }
    }
  }

  private static func check(
    _ old: Configuration.Expectation, _ new: Configuration.Expectation,
    _ changes: ExpectationRewriter.Changes,
    _ file: String
  ) throws(Violation) {
    func hold(
      _ key: String, _ before: Configuration.Expectation.Text?, _ after: Configuration.Expectation.Text?
    ) throws(Violation) {
      var wanted = before
      if let change = changes.first(where: { $0.key == key }) {
        wanted = if case .write(.text(let text))? = change.edit { .exactly(text) } else { nil }
      }
      try demand(
        after == wanted,
        "'\(key)' is \(String(describing: after)), not \(String(describing: wanted)):\n\(file)")
    }
    try hold("verdict", old.verdict.map { .exactly($0.value) }, new.verdict.map { .exactly($0.value) })
    try hold("code", old.code?.value, new.code?.value)
    try hold("message", old.message?.value, new.message?.value)
    try hold("location", old.location?.value, new.location?.value)
    try demand(
      new.includedKeys == old.includedKeys && new.metadata?.value.map(\.key) == old.metadata?.value.map(\.key)
        && new.events?.value == old.events?.value && new.within?.value == old.within?.value,
      "something else has changed:\n\(file)")
  }
}
