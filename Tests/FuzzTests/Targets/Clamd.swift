import ClamdServer
import FrontWire
import Wire

extension FuzzTarget {
  /// What clients of ClamAV's daemon send. The first byte says in how large pieces it comes.
  static let clamd = FuzzTarget(name: "clamd", longest: 3 * ClamdParser.longestCommand) { bytes in
    guard let size = bytes.first else { return }
    let rest = Array(bytes.dropFirst())
    let whole = try heard(rest, inPiecesOf: max(rest.count, 1))
    let split = try heard(rest, inPiecesOf: Int(size) + 1)
    try demand(whole == split, "in pieces of \(Int(size) + 1) it is \(split), and at once \(whole)")
    for command in whole.commands {
      try demand(command.argument.utf8.count <= 256, "a path of \(command.argument.utf8.count) bytes")
      // It is repeated in an answer, which the client reads up to a colon.
      try demand(
        command.argument.utf8.allSatisfy { 0x20..<0x7F ~= $0 && $0 != UInt8(ascii: ":") },
        "an answer would have '\(command.argument)'")
      try demand(
        command.verb?.takesPath == true || command.argument.isEmpty || command.verb == nil, "an argument")
    }
  }

  /// What was heard of some bytes.
  private struct Heard: Equatable {
    var commands: [ClamdCommand] = []
    var contents: [[UInt8]] = []
    var isBroken = false
  }

  private static func heard(_ bytes: [UInt8], inPiecesOf size: Int) throws -> Heard {
    var parser = ClamdParser()
    var heard = Heard()
    var content: [UInt8] = []
    func obey(_ command: ClamdCommand) {
      heard.commands.append(command)
      if command.verb == .inStream { parser.expectContent() }
    }
    for start in stride(from: 0, to: bytes.count, by: size) {
      let piece = Array(bytes[start..<min(start + size, bytes.count)])
      var done = 0
      while done < piece.count {
        do {
          try piece.withUnsafeBytes { buffer in
            let rest = UnsafeRawBufferPointer(rebasing: buffer[done...])
            let (taken, event) = try parser.take(rest)
            try demand(0...rest.count ~= taken && taken > 0, "it took \(taken) of \(rest.count) bytes")
            switch event {
            case .command(let command): obey(command)
            case .content(let some):
              try demand(!some.isEmpty && some.count <= taken, "\(some.count) bytes of content in \(taken)")
              content += some
            case .end:
              heard.contents.append(content)
              content = []
            case nil: break
            }
            done += taken
          }
        } catch is ClamdFault {
          heard.isBroken = true
          return heard
        }
      }
    }
    if let last = parser.end() { heard.commands.append(last) }
    return heard
  }

  /// Frames between the coordinator and the process that answers clients of ClamAV's daemon, in both directions.
  static let doorFrames = FuzzTarget(name: "door-frames") { bytes in
    try bytes.withUnsafeBytes { buffer in
      if let message = try? ToDoor(buffer) {
        try demand(
          try message.frame.withUnsafeBytes { try ToDoor($0) } == message,
          "what it is told is not, written again")
      }
      if let message = try? FromDoor(buffer) {
        try demand(
          try message.frame.withUnsafeBytes { try FromDoor($0) } == message,
          "what it tells is not, written again")
      }
    }
  }
}
