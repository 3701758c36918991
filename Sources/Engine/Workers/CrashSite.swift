import CPlatform
import Pipeline

/// Where a worker was when it crashed: hearsay, as a worker that content has taken over may say what it likes.
public struct CrashSite: Sendable, Equatable {
  /// A place in the code.
  public struct Frame: Sendable, Equatable {
    /// The file's name of a library or of the worker, with letters that are plain; empty: in none.
    public var module: String
    /// Of an instruction, from the module's start.
    public var offset: UInt64

    public init(module: String, offset: UInt64) {
      self.module = module
      self.offset = offset
    }

    /// Such as `libsluice-pdf.so+0x11a9`.
    public var text: String { "\(module.isEmpty ? "" : module + "+")0x\(String(offset, radix: 16))" }
  }

  /// Innermost first; never empty.
  public var frames: [Frame]

  public init?(_ frames: [Frame]) {
    if frames.isEmpty { return nil }
    self.frames = frames
  }

  /// From the status page of a worker that has ended.
  init?(_ page: UnsafePointer<sluice_status>) {
    let crash = (UnsafeRawPointer(page) + Int(SLUICE_STATUS_CRASH)).assumingMemoryBound(to: sluice_crash.self)
    let count = Int(min(crash.pointee.count, UInt64(SLUICE_CRASH_FRAMES)))
    let frames = withUnsafeBytes(of: crash.pointee.frames) { bytes in
      bytes.bindMemory(to: sluice_frame.self).prefix(count).map { frame in
        Frame(module: Self.name(frame), offset: frame.offset)
      }
    }
    self.init(frames)
  }

  private static func name(_ frame: sluice_frame) -> String {
    withUnsafeBytes(of: frame.module) { bytes in
      let name = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      return PlainName.isOne(name) || name.utf8.allSatisfy(isPlain) ? name : "?"
    }
  }

  private static func isPlain(_ letter: UInt8) -> Bool { (0x21..<0x7F).contains(letter) }

  /// The frame that its author knows best: the innermost in the plugin's own file, or else the innermost of all.
  ///
  /// - Parameter file: the plugin's path.
  public func frame(in file: String) -> Frame {
    let module = Self.module(of: file)
    return frames.first { $0.module == module } ?? frames[0]
  }

  /// The name that frames in this file have. Long ones are cut.
  public static func module(of file: String) -> String {
    let name = file.split(separator: "/").last ?? ""
    return String(decoding: name.utf8.prefix(Int(SLUICE_CRASH_NAME) - 1), as: UTF8.self)
  }
}
