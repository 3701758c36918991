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

  /// Under /v1 any other is refused, but of a content: pages add to links what they like.
  var parameters: [Parameter] {
    switch self {
    case .attachments:
      Self.filter
        + [
          Parameter(
            "order", .choice(["oldest", "newest"]), "Which are first; else the oldest, in order of intake.")
        ] + Self.paging
    case .report:
      Self.filter + [
        Parameter("limit", .number(1...API.mostReported), "So many are counted, in order of intake.")
      ]
    case .transfers:
      [
        Parameter(
          "state", .choices(TransferRecord.State.allCases.map(\.rawValue)), "Those in one of these states.")
      ]
        + Self.paging
    case .deliveries:
      [
        Parameter(
          "status", .choices(DeliveryStatus.allCases.map(\.rawValue)), "Those with one of these statuses."),
        Parameter("channel", "Those of this channel."),
        Parameter("code", .codes, "Those whose last try failed with one of these codes."),
        Parameter("id", "That with this id, or those of the attachment with it."),
      ] + Self.paging
    case .uploads: Self.paging
    case .events: [Parameter("lastEventId", "As `Last-Event-ID`, for clients that can send no field.")]
    case .pauseLane: [Parameter("reason", "Why, for those who look at the lane.")]
    case .link:
      [
        Parameter("seconds", .number(1...LinkSigner.longest), "How long it is good for."),
        Parameter("download", .choice(["0", "1"]), "Whether it is to be saved, and not shown."),
        Self.derived,
      ]
    case .content:
      [
        Parameter("download", .choice(["0", "1"]), "Whether it is to be saved, and not shown."),
        Self.derived, Self.encoding,
      ]
    case .fetch: [Self.encoding]
    case .check:
      [
        Parameter("filename", "The name of the file, which stages see."),
        Parameter("filetype", "Its media type, as far as the client knows."),
      ]
    case .postAttachment:
      [
        Parameter("filename", "The name of the file."),
        Parameter("filetype", "Its media type, as far as the client knows."),
        Parameter("conversationId", "The conversation that it belongs to."),
        Parameter("messageId", "The message that it belongs to."),
        Parameter("reference", "A name of the product's own for it."),
        Parameter("senderId", "For whom; of a service's or administrator's token."),
        Parameter("participants", "Who takes part, as a JSON array; of such a token."),
      ]
    default: []
    }
  }

  /// Which attachments are meant.
  private static let filter = [
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

  private static let paging = [
    Parameter("limit", .number(1...200), "Rows of a page; else 50."),
    Parameter("after", "The value of `next` of the page before."),
  ]

  private static let derived = Parameter(
    "derived", "The name of an object that a stage derived, such as thumbnail, in the place of the content.")

  private static let encoding = Parameter(
    "encoding", .choice(["base64"]), "The content in the letters of Base64; else as it is.")
}
