import LedgerPort
import Pipeline

extension Route {
  /// What the query of a request may have.
  struct Parameter: Sendable {
    enum Kind: Sendable {
      case text
      case number(ClosedRange<Int64>)
      case choice([String])
      /// Several choices, with commas between them.
      case choices([String])
      /// Codes, with commas between them.
      case codes

      /// Whether it may have several values, with commas between them.
      var isList: Bool {
        switch self {
        case .choices, .codes: true
        case .text, .number, .choice: false
        }
      }
    }

    var name: String
    var kind = Kind.text
    var help: String

    init(_ name: String, _ help: String) { (self.name, self.help) = (name, help) }

    init(_ name: String, _ kind: Kind, _ help: String) {
      (self.name, self.kind, self.help) = (name, kind, help)
    }
  }

  /// Which attachments are meant.
  static let filter = [
    Parameter("status", .choices(Status.allCases.map(\.rawValue)), "Those with one of these statuses."),
    Parameter("code", .codes, "Those that ended with one of these codes."),
    Parameter("stage", "Those that ended in this stage."),
    Parameter("type", "Those of this media type, as in application/pdf or image/*."),
    Parameter("conversation", "Those of this conversation."),
    Parameter("message", "Those of the message with this id, in whichever conversation."),
    Parameter("sender", "Those that this one sent."),
    Parameter("reference", "Those that their client calls so."),
    Parameter("parent", "Those that were taken out of the attachment with this id, at any level."),
    Parameter("name", "Those with this file name."),
    Parameter("minSize", "Those of this size or more: 10MB, or a number of bytes."),
    Parameter("maxSize", "Those of this size or less."),
    Parameter("since", "Taken in since: 2h (ago), 2026-01-31, 2026-01-31T08:00:00Z."),
    Parameter("until", "Taken in until."),
    Parameter("sha256", "Those with this content; 64 hexadecimal digits."),
  ]

  static let paging = [
    Parameter("limit", .number(1...200), "Rows of a page; else 50."),
    Parameter("after", "The value of `next` of the page before."),
  ]

  static let download = Parameter(
    "download", .choice(["0", "1"]), "Whether it is to be saved, and not shown.")

  static let derived = Parameter(
    "derived", "The name of an object that a stage derived, such as thumbnail, in the place of the content.")

  /// Some cases, with commas between them.
  static func oneOf<Case: RawRepresentable<String> & CaseIterable>(
    _ name: String, _: Case.Type, _ help: String
  ) -> Parameter {
    Parameter(name, .choices(Case.allCases.map(\.rawValue)), help)
  }

  static let encoding = Parameter(
    "encoding", .choice(["base64"]), "The content in the letters of Base64; else as it is.")
}
