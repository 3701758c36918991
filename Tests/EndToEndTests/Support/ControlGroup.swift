import Foundation

/// A control group with a memory limit, for a command and its children (cgroups(7)). Only root may create
/// one.
final class ControlGroup {
  private let path: String
  private let limitFile: String

  /// - Parameter bytes: the limit.
  init?(memory bytes: Int) {
    let name = "sluice-test-\(UUID().uuidString)"
    let own = (try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)) ?? ""
    var places: [(folder: String, file: String)] = []
    for line in own.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      if parts.count == 3 && parts[1] == "memory" {
        places.append(("/sys/fs/cgroup/memory\(parts[2])", "memory.limit_in_bytes"))
      }
      if parts.count == 3 && parts[0] == "0" { places.append(("/sys/fs/cgroup\(parts[2])", "memory.max")) }
    }
    for (folder, file) in places {
      let path = folder + "/" + name
      guard mkdir(path, 0o755) == 0 else { continue }
      if (try? "\(bytes)".write(toFile: "\(path)/\(file)", atomically: false, encoding: .utf8)) != nil {
        (self.path, limitFile) = (path, file)
        return
      }
      rmdir(path)
    }
    return nil
  }

  deinit {
    // Its processes have been reaped, or will be in a moment.
    waitBriefly(1) { rmdir(path) == 0 }
  }

  /// The command line that runs a command in the group.
  func command(_ words: [String]) -> [String] {
    ["/bin/sh", "-c", "echo $$ > '\(path)/cgroup.procs' && exec \"$@\"", "sh"] + words
  }

  /// The number of processes in the group that the kernel killed for lack of memory.
  var kills: Int {
    let file = limitFile == "memory.max" ? "memory.events" : "memory.oom_control"
    let text = (try? String(contentsOfFile: "\(path)/\(file)", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("oom_kill ") }
    return line.flatMap { Int($0.dropFirst(9)) } ?? 0
  }

  /// Bytes of shared memory that its processes have brought in; `nil`: the kernel does not count them.
  var sharedMemory: Int? {
    let text = (try? String(contentsOfFile: "\(path)/memory.stat", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("shmem ") }
    return line.flatMap { Int($0.dropFirst(6)) }
  }

  static let isPossible = geteuid() == 0 && ControlGroup(memory: 1 << 30) != nil
  static let skipped = "skipped: only root may make a control group, and not in every container"
}
