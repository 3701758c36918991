import StageKit

/// The size gate: limits on the number of bytes, by media type.
struct Size: Stage {
  static let about = About(
    id: "size", version: "1.0.0", summary: "Admits content within size limits, by media type.",
    codes: [
      "too-large": "The content has more bytes than the limit for its media type.",
      "too-small": "The content has fewer bytes than `min`.",
      "empty": "The content has no bytes, and `min` does not allow that.",
    ])

  static let max = Option<Int64?>.bytes("max", help: "The largest size that passes.")
  static let min = Option<Int64>.bytes(
    "min", default: "1B", help: "The smallest size that passes; `0B` lets empty files pass.")
  static let rules = Option<[Entry]>.bytesByMediaType(
    "rules",
    help: "The largest size by media type; the most exact pattern counts, and `max` where none matches.")
  static let options: [any OptionDeclaration] = [max, min, rules]

  private let max: Int64?
  private let min: Int64
  private let rules: [Entry]

  init(_ opening: Opening) {
    max = opening[Self.max]
    min = opening[Self.min]
    rules = opening[Self.rules]
    opening.repeatable(on: "")
    if let largest { opening.rejects(above: largest, code: "too-large") }
  }

  /// The largest size that passes, of any media type; `nil`: no limit.
  private var largest: Int64? {
    let sizes = rules.map(\.integer)
    if rules.contains(where: { $0.pattern == "*/*" }) { return sizes.max() }
    return max.map { Swift.max($0, sizes.max() ?? 0) }
  }

  func process(_ attachment: Attachment) throws(Outcome) {
    let size = attachment.size
    if size < min {
      throw size == 0
        ? .reject("empty", "the file is empty")
        : .reject("too-small", "\(Self.bytes(size)), and at least \(min) are asked for")
    }
    if let rule = attachment.best(of: rules) {
      if size > rule.integer {
        throw .reject(
          "too-large", "\(Self.bytes(size)), and \(rule.pattern ?? "any type") may have \(rule.integer)")
      }
    } else if let max, size > max {
      throw .reject("too-large", "\(Self.bytes(size)), and \(max) are allowed")
    }
  }

  private static func bytes(_ count: Int64) -> String { count == 1 ? "1 byte" : "\(count) bytes" }
}

private let exported = Exported(Size.self)

/// The plugin's one exported function.
@c(size_stage)
public func size_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
