import StageKit

/// Tells the sender of an attachment that is not completed, unless its code is one that is kept quiet.
struct Greeting: Stage {
  static let about = About(
    id: "greeting", version: "0.1.0", summary: "Tells the sender what is not completed.", role: .end,
    keys: ["greeting.told": "Whether the sender is told."])

  static let channel = Option<String?>.channel(
    "channel", help: "The channel to tell the sender on; without it nothing is told.")
  static let quiet = Option<[String]>.texts("quiet", help: "Codes of which the sender is not told.")
  static let options: [any OptionDeclaration] = [channel, quiet]

  private let channel: String?
  private let quiet: [String]

  init(_ opening: Opening) {
    channel = opening[Self.channel]
    quiet = opening[Self.quiet]
  }

  func process(_ attachment: Attachment) {
    let isCompleted = attachment.outcome == SLUICE_COMPLETED
    let isQuiet = attachment.reason.map { quiet.contains($0.code) } ?? false
    guard let channel, !isCompleted, !isQuiet else { return attachment.annotate("greeting.told", false) }
    attachment.annotate("greeting.told", true)
    // The host writes the event with the reason in it, and records it together with the outcome.
    attachment.emit("greeting.refused", on: channel, to: SLUICE_TO_SENDER)
  }
}

private let exported = Exported(Greeting.self)

@c(greeting_stage)
public func greeting_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
