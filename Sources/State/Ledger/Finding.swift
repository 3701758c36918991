/// Something in a home that is not as it should be: what it is, where, and what to do.
public struct Finding: Sendable {
  /// What kind, as programs tell it: `object-damaged`.
  public var code: String
  /// A file, relative to the home where it is below it; an attachment; a row.
  public var place: String
  /// A sentence without its full stop.
  public var message: String
  public var remedy: String
  /// What a repair has done about it; `nil`: it is as it was.
  public var repair: String?

  public init(_ code: String, _ place: String, _ message: String, remedy: String, repair: String? = nil) {
    self.code = code
    self.place = place
    self.message = message
    self.remedy = remedy
    self.repair = repair
  }
}
