import CPlatform
import Glibc
import Wire

/// The worker's end of the socket to the coordinator.
struct ControlSocket {
  /// Readable when a frame waits.
  let descriptor: Int32

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// A frame with the descriptors that came along.
  struct Message {
    var bytes: UnsafeMutableRawBufferPointer
    var descriptors: [Int32]
  }

  /// The next frame, in memory the caller frees. `nil`: nothing waits (with `waiting` false). Ends the process when the
  /// coordinator is gone.
  func receive(waiting: Bool, into room: UnsafeMutableRawBufferPointer) -> Message? {
    var descriptors: (Int32, Int32, Int32) = (-1, -1, -1)
    var count: Int32 = 3
    let length = withUnsafeMutableBytes(of: &descriptors) {
      sluice_receive(
        descriptor, room.baseAddress, room.count, $0.baseAddress?.assumingMemoryBound(to: Int32.self), &count,
        waiting ? 0 : 1)
    }
    if length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) { return nil }
    if length <= 0 { exit(0) }
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 8)
    bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: room[..<length]))
    var received: [Int32] = []
    if count > 0 { received.append(descriptors.0) }
    if count > 1 { received.append(descriptors.1) }
    if count > 2 { received.append(descriptors.2) }
    return Message(bytes: bytes, descriptors: received)
  }

  /// Sends a frame, waiting for room. Ends the process when the coordinator is gone.
  func send(_ frame: [UInt8]) {
    if sluice_send(descriptor, frame, frame.count, nil, 0, 0) < 0 { exit(0) }
  }

  /// Says why this worker cannot be what it should, and ends.
  func refuse(_ refusal: Refusal) -> Never {
    send(refusal.frame)
    exit(1)
  }
}
