@_exported import CStage

/// One step of a pipeline, as its author writes it.
///
/// The host makes one instance per worker process, calls `process` for one attachment at a time, always on
/// the same thread, and calls `flush` when nothing more waits or after at most 64 attachments. Returning
/// means pass; throwing an ``Outcome`` means reject, retry or fail. A trap ends the worker and costs the
/// attempt, nothing else. A stage that asks a service may work on many at once; see ``About/turns``.
///
/// The sandbox closes after the last `init` of the worker: load libraries, tables and files there.
///
/// The contract's `close` is the end of the value: the host lets go of it, and the `deinit` of a class that it holds gives
/// back what is neither Swift's nor memory, such as a descriptor or a library's handle. A stage may be a final class with a
/// `deinit` of its own. `sluice stages check` tells of what stays (its check `reopen`). A worker that is killed closes nothing.
///
///     private final class Table {
///       let handle: OpaquePointer
///       init(_ handle: OpaquePointer) { self.handle = handle }
///       deinit { table_free(handle) }
///     }
public protocol Stage {
  /// What the stage is, what it may touch, and the metadata keys and codes it may give.
  static var about: About { get }

  /// The options it reads, declared once: they are checked, completed and documented from here.
  static var options: [any OptionDeclaration] { get }

  /// Makes an instance. Throw ``Outcome/fail(_:_:)`` to refuse the pipeline with a reason.
  init(_ opening: Opening) throws(Outcome)

  /// Works on one attachment.
  mutating func process(_ attachment: Attachment) throws(Outcome)

  /// The durability barrier, for a stage whose ``About/flushes`` is true: a pass from `process` counts once this
  /// returns. What it throws is the verdict of every attachment since the last flush that was not settled.
  mutating func flush() throws(Outcome)

  /// For a channel or a stage of the line whose ``About/turns`` is true: works on the events or attachments that `process` has
  /// begun, and settles those that have ended, in any order. It looks at ``Attachment/isCancelled`` of each, and settles with any
  /// outcome what is not wanted any more: within two seconds, or the worker is ended.
  ///
  /// - Parameters:
  ///   - wake: return when this descriptor can be read, without reading it; -1: there is none.
  ///   - milliseconds: return at the latest then, and when an event was settled.
  mutating func turn(wake: Int32, for milliseconds: Int64)
}

extension Stage {
  /// Does nothing: for a stage whose ``About/turns`` is false.
  public mutating func turn(wake: Int32, for milliseconds: Int64) {}

  /// None.
  public static var options: [any OptionDeclaration] { [] }

  /// Does nothing: for a stage whose ``About/flushes`` is false.
  public mutating func flush() throws(Outcome) {}
}

/// What a stage says of itself.
public struct About: Sendable {
  /// What a stage may touch once it is open.
  public enum Capability: UInt32, Sendable {
    /// Nothing but the content it is handed.
    case content = 0
    /// It may also write below the store's folder.
    case store = 1
    /// It may also connect.
    case network = 2
  }

  /// Where in a pipeline a stage stands.
  public enum Role: Sendable {
    /// In the line, for attachments whose outcome is open.
    case line
    /// At the end, for every attachment, once its outcome is known. It gets no content.
    case end
    /// Under `channels:`; it delivers events.
    case channel
    /// Under `lanes:`; it fetches content. See ``Source``.
    case source
  }

  /// Lower case, words joined by `-`; the plugin's file is named after it.
  public var id: String
  /// Its own version: MAJOR.MINOR.PATCH (https://semver.org). What it says of the same content may change with it.
  public var version: String
  /// One sentence.
  public var summary: String
  /// What it may touch once it is open.
  public var capability: Capability
  /// Where in a pipeline it stands.
  public var role: Role
  /// Whether results count only after a `flush`.
  public var flushes: Bool
  /// Whether it may replace the content, see ``Attachment/produce()``.
  public var produces: Bool
  /// Whether it may leave objects beside the content, see ``Attachment/derive(_:_:)``.
  public var derives: Bool
  /// Whether it may take contents out of the content, see ``Attachment/addChild(_:declaredType:)``.
  public var expands: Bool
  /// Of a channel, or of a stage of the line that may connect: whether `process` only begins with an event or an attachment, which
  /// is under way until it is settled; see ``Stage/turn(wake:for:)``. What `process` throws counts at once. A stage of the line has
  /// up to 16 attachments under way, each with its own time limit. It has `flush` as well, for older hosts, which do not know
  /// this: those of contract 1.0 know it of none, the first of 1.1 of channels.
  public var turns: Bool
  /// The metadata it may record: key and meaning.
  public var keys: KeyValuePairs<String, String>
  /// The codes it may give: code and meaning.
  public var codes: KeyValuePairs<String, String>

  /// A stage in the line that touches nothing but content, unless more is said.
  public init(
    id: String, version: String, summary: String, capability: Capability = .content, role: Role = .line,
    flushes: Bool = false, produces: Bool = false, derives: Bool = false, expands: Bool = false,
    turns: Bool = false,
    keys: KeyValuePairs<String, String> = [:],
    codes: KeyValuePairs<String, String> = [:]
  ) {
    self.id = id
    self.version = version
    self.summary = summary
    self.capability = capability
    self.role = role
    self.flushes = flushes
    self.produces = produces
    self.derives = derives
    self.expands = expands
    self.turns = turns
    self.keys = keys
    self.codes = codes
  }
}
