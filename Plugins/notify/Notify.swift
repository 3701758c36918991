import StageKit

/// Tells people how an attachment ended: one event for each recipient and channel, recorded in the
/// transaction that ends the attachment.
struct Notify: Stage {
  static let about = About(
    id: "notify", version: "1.0.0", summary: "Tells participants how an attachment ended.", role: .end)

  static let to = Option<String>.text(
    "to", default: "participants",
    help: "Who is told: every participant but the sender, the sender, or everyone."
  ).among("participants", "sender", "everyone")
  static let channels = Option<[String]>.channels("channels", help: "The channels to tell them on.")
    .required()
  static let options: [any OptionDeclaration] = [to, channels]

  private let audience: UInt32
  private let channels: [String]

  init(_ opening: Opening) {
    audience =
      switch opening[Self.to] {
      case "sender": SLUICE_TO_SENDER
      case "everyone": SLUICE_TO_EVERYONE
      default: SLUICE_TO_PARTICIPANTS
      }
    channels = opening[Self.channels]
  }

  func process(_ attachment: Attachment) {
    let type =
      switch attachment.outcome {
      case SLUICE_COMPLETED: "attachment.completed"
      case SLUICE_REJECTED: "attachment.rejected"
      case SLUICE_CANCELLED: "attachment.cancelled"
      default: "attachment.failed"
      }
    for channel in channels { attachment.emit(type, on: channel, to: audience) }
  }
}

private let exported = Exported(Notify.self)

/// The plugin's one exported function.
@c(notify_stage)
public func notify_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
