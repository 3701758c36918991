import FrontWire
import Platform
import Testing
import Wire

/// The frames between coordinator and the process that answers clients of ClamAV's daemon, whole and broken.
struct DoorFrameTests {
  private static let toDoor: [ToDoor] = [
    .doors(
      DoorSetup(
        connections: 5, longestFile: 1 << 40, memory: 1 << 30, requiresSandbox: true, version: "ClamAV 1/2/é")
    ),
    .take(serial: 1, limit: 99), .answer(serial: 2, "Sluice.pdf.pdf-damaged FOUND"), .answer(serial: 3, ""),
    .close,
  ]
  private static let fromDoor: [FromDoor] = [
    .open(sandbox: 3), .asked(serial: 1, door: 2, peer: "user 7"), .taken(serial: .max, .whole),
    .taken(serial: 4, .notWritten),
    .left(serial: 5),
  ]

  @Test func whatIsSaidIsHeard() throws {
    for message in Self.toDoor {
      #expect(try message.frame.withUnsafeBytes { try ToDoor($0) } == message)
      #expect(throws: FrameError.self) { try message.frame.withUnsafeBytes { try FromDoor($0) } }
    }
    for message in Self.fromDoor {
      #expect(try message.frame.withUnsafeBytes { try FromDoor($0) } == message)
      #expect(throws: FrameError.self) { try message.frame.withUnsafeBytes { try ToDoor($0) } }
    }
  }

  @Test func anAnswerIsBounded() {
    let long = ToDoor.answer(serial: 1, String(repeating: "x", count: ToDoor.answerLimit + 1)).frame
    #expect(throws: FrameError.self) { try long.withUnsafeBytes { try ToDoor($0) } }
  }

  @Test func aBrokenFrameIsAnErrorAndNoMore() {
    var random = SplitMix(state: 1)
    for frame in Self.toDoor.map(\.frame) + Self.fromDoor.map(\.frame) {
      for count in 0..<frame.count {
        let isRead = frame[..<count].withUnsafeBytes { bytes in
          (try? ToDoor(bytes)) != nil || (try? FromDoor(bytes)) != nil
        }
        #expect(!isRead, "\(count) bytes of \(frame)")
      }
      let longer = frame + [0]
      #expect(longer.withUnsafeBytes { (try? ToDoor($0)) == nil && (try? FromDoor($0)) == nil })
      for _ in 0..<2000 {
        var broken = frame
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          broken[Int.random(in: 0..<broken.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        broken.withUnsafeBytes { bytes in
          _ = try? ToDoor(bytes)
          _ = try? FromDoor(bytes)
        }
      }
    }
  }
}
