import Glibc

/// How long a stage took, time after time, and the most memory its worker held.
public struct Profile {
  /// Each time in the stage, in microseconds.
  private var times: [Int64] = []
  /// The largest resident set of a worker, libraries included, in bytes.
  public private(set) var peak: Int64 = 0

  public init() {}

  public var count: Int { times.count }
  public var median: Int64 { quantile(0.5) }
  public var p99: Int64 { quantile(0.99) }
  public var longest: Int64 { times.max() ?? 0 }

  public mutating func add(microseconds: Int64) { times.append(microseconds) }

  /// Looks at what a worker has held so far.
  public mutating func look(at pid: pid_t?) {
    if let pid, let kilobytes = Self.highWater(pid) { peak = max(peak, kilobytes << 10) }
  }

  /// The smallest time that is not exceeded by this fraction of all times.
  private func quantile(_ part: Double) -> Int64 {
    guard !times.isEmpty else { return 0 }
    let place = Int((part * Double(times.count)).rounded(.up))
    return times.sorted()[min(max(place, 1), times.count) - 1]
  }

  /// `VmHWM` of proc_pid_status(5), in KiB.
  private static func highWater(_ pid: pid_t) -> Int64? {
    ProcessFacts.text("/proc/\(pid)/status")?.split(separator: "\n")
      .first { $0.hasPrefix("VmHWM:") }?
      .split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int64($0) }
  }
}

/// Facts about a process from proc(5).
enum ProcessFacts {
  /// A file of proc(5); `nil`: the process has ended.
  static func text(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 16 << 10)
    let count = read(descriptor, &bytes, bytes.count)
    return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
  }

  /// How many entries a folder of proc(5) has, such as `fd` or `task`; `nil`: the process has ended.
  static func count(_ path: String) -> Int? {
    guard let listing = opendir(path) else { return nil }
    defer { closedir(listing) }
    var count = -2  // `.` and `..`
    while readdir(listing) != nil { count += 1 }
    return count
  }
}
