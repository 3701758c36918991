import Wire

/// What the process that serves HTTP is to be: the first frame that it gets. The sockets that it takes connections from come along.
public struct FrontSetup: Sendable, Equatable {
  /// Connections at once, and those from one address.
  public var connections: UInt32
  public var perAddress: UInt32
  /// The longest file that it may write, in bytes.
  public var longestFile: Int64
  /// Whether it may serve where the kernel lacks a part of the sandbox.
  public var requiresSandbox: Bool

  public init(connections: UInt32, perAddress: UInt32, longestFile: Int64, requiresSandbox: Bool) {
    (self.connections, self.perAddress) = (connections, perAddress)
    (self.longestFile, self.requiresSandbox) = (longestFile, requiresSandbox)
  }

  /// The most sockets that come along.
  public static let socketLimit = 4

  public func write(to writer: inout FrameWriter) {
    writer.write(connections)
    writer.write(perAddress)
    writer.write(longestFile)
    writer.write(requiresSandbox)
  }

  public init(_ reader: inout FrameReader) throws(FrameError) {
    connections = try reader.integer(UInt32.self)
    perAddress = try reader.integer(UInt32.self)
    longestFile = try reader.integer(Int64.self)
    requiresSandbox = try reader.boolean()
  }
}
