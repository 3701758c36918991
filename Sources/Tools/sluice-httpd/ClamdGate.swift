import ClamdServer
import FrontWire
import Glibc
import HTTPServer
import Platform
import Wire

/// Hands contents of ClamAV's clients to the coordinator, and its answers to the clients.
final class ClamdGate: ClamdHandler {
  private let loop: EventLoop
  private let line: CoordinatorLine
  private var server: ClamdServer?
  private var writer: FileWriter?
  /// For files that clients have open: one that hangs holds up no content that is sent, and few others.
  private var readers: FileReaders?
  /// Contents that the coordinator knows of, by their serials.
  private var contents: [UInt64: Content] = [:]
  private var last: UInt64 = 0
  private var isDraining = false

  /// A content on its way.
  private final class Content: FileWriterClient {
    let serial: UInt64
    let job: ClamdJob
    unowned let gate: ClamdGate
    var task: FileWriter.Task?
    /// Of a file that its client has open.
    var reading: FileReaders.Reading?
    /// Bytes in memory that are not written.
    var pending = 0
    var isPaused = false

    static let mostPending = 1 << 20
    static let fewPending = 256 << 10

    init(_ serial: UInt64, _ job: ClamdJob, _ gate: ClamdGate) {
      (self.serial, self.job, self.gate) = (serial, job, gate)
    }

    func progress(_ count: Int) {
      pending -= count
      guard isPaused, pending <= Self.fewPending else { return }
      isPaused = false
      job.resume()
    }

    func ended(_ written: Int64, _ error: Int32, _ digest: [UInt8]) { gate.written(self, error) }
  }

  private init(_ loop: EventLoop) { (self.loop, line) = (loop, CoordinatorLine(loop)) }

  /// Descriptors beside those of connections: files of contents, of which the coordinator has few come at once, and its own.
  private static let ownDescriptors: UInt32 = 256

  /// Serves until the coordinator says that it is enough, or ends.
  static func serve() throws {
    let pulse = Pulse()
    let loop = try EventLoop()
    let gate = ClamdGate(loop)
    let (setup, sockets) = try gate.line.receiveDoorSetup()
    var limits = ClamdServer.Limits()
    limits.connections = Int(setup.connections)
    let server = ClamdServer(loop, limits, version: setup.version, handler: gate)
    gate.server = server
    for (door, socket) in sockets.enumerated() {
      try server.listen(on: Descriptor(owning: dup(socket.number)), door: UInt32(door))
    }
    try gate.line.listen { [unowned gate] frame, descriptor in gate.take(try ToDoor(frame), descriptor) }
    tzset()
    let level = try Sandbox.close(
      // Each connection may have passed files, and one more that no command has taken.
      descriptors: setup.connections * UInt32(limits.files + 2) + ownDescriptors,
      longestFile: setup.longestFile, memory: setup.memory, isRequired: setup.requiresSandbox,
      takesDescriptors: true)
    (gate.writer, gate.readers) = (try FileWriter(loop, Blocks()), try FileReaders(loop, limits))
    gate.line.send(FromDoor.open(sandbox: level).frame)
    loop.onTick { [unowned gate] in
      pulse.beat()
      gate.endWhereDrained()
    }
    try loop.run()
    server.closeAll()
  }

  // MARK: What clients have

  func begin(_ job: ClamdJob) {
    last += 1
    let content = Content(last, job, self)
    job.context = content
    contents[last] = content
    line.send(FromDoor.asked(serial: last, door: job.door, peer: job.peer).frame)
  }

  func take(_ bytes: UnsafeRawBufferPointer, of job: ClamdJob) -> Bool {
    guard let content = job.context as? Content, let task = content.task else { return false }
    content.pending += bytes.count
    writer?.write(bytes, task)
    content.isPaused = content.pending >= Content.mostPending
    return !content.isPaused
  }

  func end(_ job: ClamdJob) {
    guard let content = job.context as? Content, let task = content.task else { return }
    writer?.finish(task)
  }

  func drop(_ job: ClamdJob) {
    guard let content = job.context as? Content else { return }
    job.context = nil
    // What is being written goes on for as long as that takes; its end is not told.
    content.task?.client = nil
    content.task = nil
    if let reading = content.reading { readers?.giveUp(reading) }
    content.reading = nil
    forget(content)
  }

  private func forget(_ content: Content) {
    if contents.removeValue(forKey: content.serial) == nil { return }
    line.send(FromDoor.left(serial: content.serial).frame)
  }

  private func written(_ content: Content, _ error: Int32) {
    content.task = nil
    guard contents[content.serial] != nil else { return }
    line.send(FromDoor.taken(serial: content.serial, error == 0 ? .whole : .notWritten).frame)
  }

  /// Copies a file that its client has open.
  private func read(
    _ file: SharedDescriptor, to target: SharedDescriptor, atMost limit: Int64, _ content: Content
  ) {
    let work: FileReaders.Work = { FileCopy.copy(file, to: target, atMost: limit, $0) }
    content.reading = readers?.read(for: content.job.peer, work) { [unowned self] error in
      content.reading = nil
      guard contents[content.serial] != nil else { return }
      switch error {
      case 0, FileCopy.isNotWritten: written(content, error)
      case FileCopy.isNoFile: answer(content, "the descriptor is none of a regular file. ERROR")
      case FileCopy.isOfKernel: answer(content, "the descriptor is that of a file of the kernel. ERROR")
      case FileCopy.isNotReadable: answer(content, "the descriptor is not open for reading. ERROR")
      case FileCopy.isChanged: answer(content, "the file changed while it was read. ERROR")
      case FileCopy.isTooLong: answer(content, "size limit exceeded. ERROR")
      case ETIMEDOUT:
        answer(content, "the file could not be read in \(ClamdServer.Limits().readTime / 1000) s. ERROR")
      default: answer(content, "the file cannot be read. ERROR")
      }
    }
  }

  private func answer(_ content: Content, _ text: String) {
    content.job.context = nil
    forget(content)
    content.job.answer(text)
  }

  // MARK: What the coordinator says

  private func take(_ message: ToDoor, _ descriptor: SharedDescriptor?) {
    switch message {
    case .doors: break
    case .take(let serial, let limit):
      guard let content = contents[serial], !content.job.isTaken else { return }
      // The kernel passes none where there is no room for it.
      guard let descriptor else { return answer(content, "no room for the content. ERROR") }
      if case .file(let file) = content.job.kind {
        content.job.take(atMost: limit)
        return read(file, to: descriptor, atMost: limit, content)
      }
      let task = FileWriter.Task(descriptor, syncs: false)
      task.client = content
      content.task = task
      content.job.take(atMost: limit)
    case .answer(let serial, let text):
      if let content = contents[serial] { answer(content, text) }
    case .close:
      isDraining = true
      server?.drain()
      endWhereDrained()
    }
  }

  private func endWhereDrained() {
    if isDraining && server?.count == 0 && line.isClear { loop.stop() }
  }
}
