/// What clients of `sluice serve` may do, and where they find it.
public struct ServeRules: Sendable, Equatable {
  /// Addresses, as `--listen` takes them; none: the usual one.
  public var listen: [String] = []
  /// Connections at once, in all and from one address.
  public var connections = 10_000
  public var perAddress = 200
  /// Bytes of an upload, and of one that calls itself an image.
  public var maxSize: Int64 = 10_000_000
  public var maxImageSize: Int64 = 2_000_000
  /// Uploads of a user that are not whole, at once.
  public var uploads = 20
  /// Milliseconds that an upload may take.
  public var uploadTime: Int64 = 86_400_000

  public init() {}
}
