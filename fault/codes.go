package fault

// The codes. Each has a text in every locale (held by a test of the locale
// package); CONTRACT §6 names most of them, the rest follow its pattern.
const (
	FSOutOfScope       Code = "fs.out_of_scope"
	FSReadOnly         Code = "fs.read_only"
	FSNoDelete         Code = "fs.no_delete"
	FSNoExecute        Code = "fs.no_execute"
	FSOutsideWorkspace Code = "fs.outside_workspace"
	FSPathTraversal    Code = "fs.path_traversal"
	FSDanglingLink     Code = "fs.dangling_link"
	FSLinkLoop         Code = "fs.link_loop"
	FSHardLink         Code = "fs.hard_link"
	FSExists           Code = "fs.exists"
	FSNotFound         Code = "fs.not_found"
	FSIsDirectory      Code = "fs.is_directory"
	FSNotDirectory     Code = "fs.not_directory"
	FSNotEmpty         Code = "fs.not_empty"
	FSNotRead          Code = "fs.not_read"
	FSChanged          Code = "fs.changed"
	FSNoMatch          Code = "fs.no_match"
	FSNotUnique        Code = "fs.not_unique"
	FSBadPath          Code = "fs.bad_path"
	FSBinary           Code = "fs.binary"
	FSTooLarge         Code = "fs.too_large"
	FSTooManyFiles     Code = "fs.too_many_files"
	FSCrossVolume      Code = "fs.cross_volume"
	FSPermission       Code = "fs.permission"
	FSDeniedBeneath    Code = "fs.denied_beneath"
	FSSpecialFile      Code = "fs.special_file"
	FSFailed           Code = "fs.failed"

	ExecUnknownAlias     Code = "exec.unknown_alias"
	ExecNotApproved      Code = "exec.not_approved"
	ExecHashMismatch     Code = "exec.hash_mismatch"
	ExecShellNotApproved Code = "exec.shell_not_approved"
	ExecNotAllowed       Code = "exec.not_allowed"
	ExecTimeout          Code = "exec.timeout"
	ExecLimit            Code = "exec.limit"
	ExecFailed           Code = "exec.failed"

	NetDenied Code = "net.denied"

	ApprovalUnavailable Code = "approval.unavailable"
	ApprovalRejected    Code = "approval.rejected"
	ApprovalTimeout     Code = "approval.timeout"

	ToolUnknown   Code = "tool.unknown"
	ToolArguments Code = "tool.arguments"
	ToolRegex     Code = "tool.regex"
	ToolGlob      Code = "tool.glob"
	ToolPatch     Code = "tool.patch"

	PlanCycle             Code = "plan.cycle"
	PlanDuplicate         Code = "plan.duplicate"
	PlanUnknownDependency Code = "plan.unknown_dependency"
	PlanEstimate          Code = "plan.estimate"
	PlanTooMany           Code = "plan.too_many"
	PlanImmutable         Code = "plan.immutable"
	PlanInvalid           Code = "plan.invalid"
	PlanMissing           Code = "plan.missing"
	PlanState             Code = "plan.state"
	PlanUnknownKey        Code = "plan.unknown_key"
	PlanValue             Code = "plan.value"

	LLMUnavailable  Code = "llm.unavailable"
	LLMModelMissing Code = "llm.model_missing"
	LLMNoTools      Code = "llm.no_tools"
	LLMNoVision     Code = "llm.no_vision"
	LLMNoThinking   Code = "llm.no_thinking"
	LLMRateLimited  Code = "llm.rate_limited"
	LLMBadOutput    Code = "llm.bad_output"
	LLMAuth         Code = "llm.auth"
	LLMOverflow     Code = "llm.overflow"
	LLMFailed       Code = "llm.failed"

	AgentIterations      Code = "agent.iterations"
	AgentRepeatedFailure Code = "agent.repeated_failure"
	AgentDenied          Code = "agent.denied"
	AgentNoEffect        Code = "agent.no_effect"
	AgentCancelled       Code = "agent.cancelled"
	AgentServerRestarted Code = "agent.server_restarted"
	AgentReplans         Code = "agent.replans"
	AgentFailed          Code = "agent.failed"
	AgentNoProgress      Code = "agent.no_progress"

	MCPUnknownTask     Code = "mcp.unknown_task"
	MCPUnknownSession  Code = "mcp.unknown_session"
	MCPSessionMismatch Code = "mcp.session_mismatch"
	MCPInput           Code = "mcp.input"
	MCPInternal        Code = "mcp.internal"
	MCPBusy            Code = "mcp.busy"
	MCPStopping        Code = "mcp.stopping"
	MCPListen          Code = "mcp.listen"
	MCPNotLoopback     Code = "mcp.not_loopback"
	MCPPeerCheck       Code = "mcp.peer_check"

	ConfigUnreadable     Code = "config.unreadable"
	ConfigSyntax         Code = "config.syntax"
	ConfigUnknownKey     Code = "config.unknown_key"
	ConfigDuplicateKey   Code = "config.duplicate_key"
	ConfigType           Code = "config.type"
	ConfigValue          Code = "config.value"
	ConfigMissing        Code = "config.missing"
	ConfigVersion        Code = "config.version"
	ConfigForeign        Code = "config.foreign"
	ConfigSecondDocument Code = "config.second_document"
	ConfigUnavailable    Code = "config.unavailable"
	ConfigProtected      Code = "config.protected"

	PolicyNotApplied      Code = "policy.not_applied"
	PolicyChanged         Code = "policy.changed"
	PolicyUnresolvable    Code = "policy.unresolvable"
	PolicyHash            Code = "policy.hash"
	PolicyRuntimeWritable Code = "policy.runtime_writable"
	PolicyRoot            Code = "policy.root"
	PolicyNested          Code = "policy.nested"
	PolicyDeclined        Code = "policy.declined"
	PolicyEntry           Code = "policy.entry"
	PolicyEnvironment     Code = "policy.environment"
	PolicyEndpoint        Code = "policy.endpoint"
	PolicyRuleDelete      Code = "policy.rule_delete"
	PolicyRulePermission  Code = "policy.rule_permission"
	PolicyRuleTarget      Code = "policy.rule_target"

	PodInterrupted Code = "pod.interrupted"
	PodManifest    Code = "pod.manifest"
	PodMissing     Code = "pod.missing"
	PodPwd         Code = "pod.pwd"
	PodSession     Code = "pod.session"
	PodStore       Code = "pod.store"
	PodTurns       Code = "pod.turns"

	LocaleDuplicateKey Code = "locale.duplicate_key"
	LocaleID           Code = "locale.id"
	LocaleMissing      Code = "locale.missing"
	LocaleSyntax       Code = "locale.syntax"
	LocaleUnknownKey   Code = "locale.unknown_key"
	LocalePlaceholder  Code = "locale.placeholder"
	LocaleTooLarge     Code = "locale.too_large"
	LocaleUnreadable   Code = "locale.unreadable"

	PlatformUnavailable Code = "platform.unavailable"
	PlatformUnsupported Code = "platform.unsupported"
	PlatformAudit       Code = "platform.audit"
	PlatformAuditChain  Code = "platform.audit_chain"
	PlatformRecovery    Code = "platform.recovery"
	PlatformState       Code = "platform.state"
	PlatformWorker      Code = "platform.worker"
	PlatformReplaced    Code = "platform.replaced"
	PlatformBusy        Code = "platform.busy"

	UsageRemoved   Code = "usage.removed"
	UsageArguments Code = "usage.arguments"
)

// Codes returns every code, in the order of their declaration.
func Codes() []Code {
	return []Code{
		FSOutOfScope,
		FSReadOnly,
		FSNoDelete,
		FSNoExecute,
		FSOutsideWorkspace,
		FSPathTraversal,
		FSDanglingLink,
		FSLinkLoop,
		FSHardLink,
		FSExists,
		FSNotFound,
		FSIsDirectory,
		FSNotDirectory,
		FSNotEmpty,
		FSNotRead,
		FSChanged,
		FSNoMatch,
		FSNotUnique,
		FSBadPath,
		FSBinary,
		FSTooLarge,
		FSTooManyFiles,
		FSCrossVolume,
		FSPermission,
		FSDeniedBeneath,
		FSSpecialFile,
		FSFailed,
		ExecUnknownAlias,
		ExecNotApproved,
		ExecHashMismatch,
		ExecShellNotApproved,
		ExecNotAllowed,
		ExecTimeout,
		ExecLimit,
		ExecFailed,
		NetDenied,
		ApprovalUnavailable,
		ApprovalRejected,
		ApprovalTimeout,
		ToolUnknown,
		ToolArguments,
		ToolRegex,
		ToolGlob,
		ToolPatch,
		PlanCycle,
		PlanDuplicate,
		PlanUnknownDependency,
		PlanEstimate,
		PlanTooMany,
		PlanImmutable,
		PlanInvalid,
		PlanMissing,
		PlanState,
		PlanUnknownKey,
		PlanValue,
		LLMUnavailable,
		LLMModelMissing,
		LLMNoTools,
		LLMNoVision,
		LLMNoThinking,
		LLMRateLimited,
		LLMBadOutput,
		LLMAuth,
		LLMOverflow,
		LLMFailed,
		AgentIterations,
		AgentRepeatedFailure,
		AgentDenied,
		AgentNoEffect,
		AgentCancelled,
		AgentServerRestarted,
		AgentReplans,
		AgentFailed,
		AgentNoProgress,
		MCPUnknownTask,
		MCPUnknownSession,
		MCPSessionMismatch,
		MCPInput,
		MCPInternal,
		MCPBusy,
		MCPStopping,
		MCPListen,
		MCPNotLoopback,
		MCPPeerCheck,
		ConfigUnreadable,
		ConfigSyntax,
		ConfigUnknownKey,
		ConfigDuplicateKey,
		ConfigType,
		ConfigValue,
		ConfigMissing,
		ConfigVersion,
		ConfigForeign,
		ConfigSecondDocument,
		ConfigUnavailable,
		ConfigProtected,
		PolicyNotApplied,
		PolicyChanged,
		PolicyUnresolvable,
		PolicyHash,
		PolicyRuntimeWritable,
		PolicyRoot,
		PolicyNested,
		PolicyDeclined,
		PolicyEntry,
		PolicyEnvironment,
		PolicyEndpoint,
		PolicyRuleDelete,
		PolicyRulePermission,
		PolicyRuleTarget,
		PodInterrupted,
		PodManifest,
		PodMissing,
		PodPwd,
		PodSession,
		PodStore,
		PodTurns,
		LocaleDuplicateKey,
		LocaleID,
		LocaleMissing,
		LocaleSyntax,
		LocaleUnknownKey,
		LocalePlaceholder,
		LocaleTooLarge,
		LocaleUnreadable,
		PlatformUnavailable,
		PlatformUnsupported,
		PlatformAudit,
		PlatformAuditChain,
		PlatformRecovery,
		PlatformState,
		PlatformWorker,
		PlatformReplaced,
		PlatformBusy,
		UsageRemoved,
		UsageArguments,
	}
}
