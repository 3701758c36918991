import Wire

/// What the process that serves HTTP is to be: the first frame that it gets. The sockets that it takes connections from come along.
public struct FrontSetup: Sendable, Equatable {
  /// Connections at once, and those from one address.
  public var connections: UInt32
  public var perAddress: UInt32
  /// Addresses of proxies, of which any number of connections may come.
  public var proxies: [String]
  /// The longest file that it may write, in bytes.
  public var longestFile: Int64
  /// Bytes of address space that it may have.
  public var memory: Int64
  /// Whether it may serve where the kernel lacks a part of the sandbox.
  public var requiresSandbox: Bool

  public init(
    connections: UInt32, perAddress: UInt32, proxies: [String] = [], longestFile: Int64, memory: Int64,
    requiresSandbox: Bool
  ) {
    (self.connections, self.perAddress, self.proxies) = (connections, perAddress, proxies)
    (self.longestFile, self.memory, self.requiresSandbox) = (longestFile, memory, requiresSandbox)
  }

  private static let proxyLimit = 100

  /// The most sockets that come along.
  public static let socketLimit = 4

  public func write(to writer: inout FrameWriter) {
    writer.write(connections)
    writer.write(perAddress)
    writer.write(proxies) { $0.write($1) }
    writer.write(longestFile)
    writer.write(memory)
    writer.write(requiresSandbox)
  }

  public init(_ reader: inout FrameReader) throws(FrameError) {
    connections = try reader.integer(UInt32.self)
    perAddress = try reader.integer(UInt32.self)
    proxies = try reader.elements(atMost: Self.proxyLimit) { (reader) throws(FrameError) -> String in
      try reader.requiredText(atMost: 64)
    }
    longestFile = try reader.integer(Int64.self)
    memory = try reader.integer(Int64.self)
    requiresSandbox = try reader.boolean()
  }
}
