/// A defect in a home: what it is, where, and what to do.
public struct Finding: Sendable {
  /// The kind of defect, a stable code for programs: `object-damaged`.
  public var code: String
  /// A file, relative to the home if it is below it; an attachment; or a row.
  public var place: String
  /// A sentence without its full stop.
  public var message: String
  public var remedy: String
  /// What a repair did about it; `nil`: nothing was changed.
  public var repair: String?

  public init(_ code: String, _ place: String, _ message: String, remedy: String, repair: String? = nil) {
    self.code = code
    self.place = place
    self.message = message
    self.remedy = remedy
    self.repair = repair
  }
}
