import CWorker
import Pipeline

/// A part of the sandbox: what it protects, and what to do if the kernel lacks it.
struct SandboxPart {
  var bit: UInt32
  var name: String
  var gives: String
  var remedy: String
  /// `sandbox: require` refuses to run without it.
  var isRequired = true

  static let all = [
    SandboxPart(
      bit: UInt32(SLUICE_SANDBOX_NO_NEW_PRIVILEGES), name: "no_new_privs",
      gives: "a worker cannot gain privileges", remedy: "needs Linux 3.5"),
    SandboxPart(
      bit: UInt32(SLUICE_SANDBOX_LIMITS), name: "limits",
      gives: "no core files, bounded output and descriptors", remedy: "the hard limits forbid it",
      isRequired: false),
    SandboxPart(
      bit: UInt32(SLUICE_SANDBOX_SYSCALLS), name: "seccomp",
      gives: "any system call off its list ends the worker",
      remedy: "needs CONFIG_SECCOMP_FILTER, and a container that allows seccomp(2)"),
    SandboxPart(
      bit: UInt32(SLUICE_SANDBOX_FILES), name: "Landlock files",
      gives: "no files but those that are granted",
      remedy: "needs Linux 5.13 with `landlock` among the lsm= of the kernel's command line"),
    SandboxPart(
      bit: UInt32(SLUICE_SANDBOX_TCP), name: "Landlock TCP",
      gives: "only stages with the capability `network` connect, and nothing listens",
      remedy: "needs Linux 6.7",
      isRequired: false),
    SandboxPart(
      bit: UInt32(SLUICE_SANDBOX_SCOPE), name: "Landlock scope",
      gives: "no signals or abstract sockets to other processes", remedy: "needs Linux 6.12",
      isRequired: false),
  ]

  func isPart(of level: UInt32) -> Bool { level & bit != 0 }

  /// A sentence about the required parts that a worker lacks; `nil`: none.
  static func missing(_ level: UInt32?, _ policy: SandboxPolicy) -> String? {
    guard let level, policy != .off else { return nil }
    let missing = all.filter { $0.isRequired && !$0.isPart(of: level) }.map(\.name)
    return missing.isEmpty
      ? nil : "it ran without \(missing.joined(separator: ", ")); `sluice doctor` tells what to do"
  }
}
