/// Asks a worker what the plugin in a file is.
public struct PluginQuestion: Sendable {
  public var id: String
  public var file: String

  public init(id: String, file: String) {
    self.id = id
    self.file = file
  }

  public var frame: [UInt8] {
    var writer = FrameWriter(.question)
    writer.write(id)
    writer.write(file)
    return writer.bytes
  }

  /// Reads what follows the kind.
  public init(_ reader: inout FrameReader) throws(FrameError) {
    id = try reader.requiredText(atMost: 4096)
    file = try reader.requiredText(atMost: 4096)
    try reader.end()
  }
}
