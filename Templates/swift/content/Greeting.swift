import StageKit

/// Admits content that begins with a word.
struct Greeting: Stage {
  static let about = About(
    id: "greeting", version: "0.1.0", summary: "Admits content that begins with a word.",
    keys: ["greeting.word": "The word it begins with."],
    codes: [
      "wrong-word": "It begins with something else.",
      "unreadable": "The system cannot read the content.",
    ])

  static let word = Option<String>.text("word", default: "hello", help: "The word that content begins with.")
  static let options: [any OptionDeclaration] = [word]

  private let word: String

  init(_ opening: Opening) throws(Outcome) {
    word = opening[Self.word]
    if word.isEmpty { throw .fail("wrong-word", "option 'word' is empty; give it a word") }
  }

  func process(_ attachment: Attachment) throws(Outcome) {
    let start = try attachment.read(word.utf8.count, at: 0)
    guard start.elementsEqual(word.utf8) else {
      throw .reject("wrong-word", "the content does not begin with '\(word)'")
    }
    attachment.annotate("greeting.word", word)
  }
}

private let exported = Exported(Greeting.self)

@c(greeting_stage)
public func greeting_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
