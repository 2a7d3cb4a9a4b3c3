"""Contains all the data models used in inputs/outputs"""

from .attach import Attach
from .audit_entry import AuditEntry
from .audit_list import AuditList
from .backup import Backup
from .backup_list import BackupList
from .backup_schedule import BackupSchedule
from .backup_status import BackupStatus
from .base import Base
from .base_list import BaseList
from .base_used_by_type_0 import BaseUsedByType0
from .base_used_by_type_0_boxes_item import BaseUsedByType0BoxesItem
from .box import Box
from .box_config import BoxConfig
from .box_config_input import BoxConfigInput
from .box_data_mounts_item import BoxDataMountsItem
from .box_list import BoxList
from .box_metrics import BoxMetrics
from .box_metrics_cpu import BoxMetricsCpu
from .box_metrics_history import BoxMetricsHistory
from .box_metrics_memory import BoxMetricsMemory
from .box_metrics_network_type_0 import BoxMetricsNetworkType0
from .box_metrics_pids import BoxMetricsPids
from .box_metrics_point import BoxMetricsPoint
from .box_metrics_storage import BoxMetricsStorage
from .box_protocol import BoxProtocol
from .box_reason import BoxReason
from .box_state import BoxState
from .box_status import BoxStatus
from .box_url_settings import BoxUrlSettings
from .box_url_settings_auth import BoxUrlSettingsAuth
from .config import Config
from .config_defaults import ConfigDefaults
from .config_defaults_quota import ConfigDefaultsQuota
from .config_drivers import ConfigDrivers
from .create_base import CreateBase
from .create_box import CreateBox
from .create_box_data_mounts_type_0_item import CreateBoxDataMountsType0Item
from .create_box_protocol_type_0 import CreateBoxProtocolType0
from .create_box_snapshot import CreateBoxSnapshot
from .create_box_url_settings_type_0 import CreateBoxUrlSettingsType0
from .create_box_url_settings_type_0_auth_type_0 import (
    CreateBoxUrlSettingsType0AuthType0,
)
from .create_snapshot import CreateSnapshot
from .create_token import CreateToken
from .create_volume import CreateVolume
from .created_token import CreatedToken
from .deploy_service import DeployService
from .deploy_service_isolation import DeployServiceIsolation
from .detach import Detach
from .directory_create import DirectoryCreate
from .environment import Environment
from .error_code import ErrorCode
from .event import Event
from .event_actor_type_0 import EventActorType0
from .event_data import EventData
from .event_list import EventList
from .exec_ import Exec
from .exec_encoding import ExecEncoding
from .exec_list import ExecList
from .exec_next_offset import ExecNextOffset
from .exec_output import ExecOutput
from .exec_output_encoding import ExecOutputEncoding
from .exec_output_stream import ExecOutputStream
from .exec_reason import ExecReason
from .exec_record import ExecRecord
from .exec_request import ExecRequest
from .exec_request_encoding import ExecRequestEncoding
from .exec_signal import ExecSignal
from .exec_signal_signal import ExecSignalSignal
from .exec_status import ExecStatus
from .file_content import FileContent
from .file_content_encoding import FileContentEncoding
from .file_content_type import FileContentType
from .file_entry import FileEntry
from .file_entry_type import FileEntryType
from .file_list import FileList
from .file_move import FileMove
from .file_restore import FileRestore
from .file_write import FileWrite
from .file_write_encoding import FileWriteEncoding
from .get_box_metrics_history_step_seconds import GetBoxMetricsHistoryStepSeconds
from .get_exec_encoding import GetExecEncoding
from .get_exec_output_encoding import GetExecOutputEncoding
from .get_exec_output_stream import GetExecOutputStream
from .get_open_api_response_200 import GetOpenApiResponse200
from .get_service_logs_encoding import GetServiceLogsEncoding
from .get_service_logs_version import GetServiceLogsVersion
from .health import Health
from .health_api import HealthApi
from .health_boxes import HealthBoxes
from .health_host import HealthHost
from .health_host_cpu import HealthHostCpu
from .health_host_memory import HealthHostMemory
from .health_host_storage import HealthHostStorage
from .health_host_storage_mounts_item import HealthHostStorageMountsItem
from .health_kubernetes import HealthKubernetes
from .health_kubernetes_nodes_item import HealthKubernetesNodesItem
from .health_problems_item import HealthProblemsItem
from .health_status import HealthStatus
from .lease import Lease
from .limits import Limits
from .me import Me
from .me_on_behalf_of_type_0 import MeOnBehalfOfType0
from .open_console_typing import OpenConsoleTyping
from .operation import Operation
from .operation_error_type_0 import OperationErrorType0
from .operation_status import OperationStatus
from .permission import Permission
from .problem import Problem
from .problem_errors_item import ProblemErrorsItem
from .problem_type import ProblemType
from .problem_type_list import ProblemTypeList
from .project import Project
from .project_allowed import ProjectAllowed
from .project_boxes import ProjectBoxes
from .project_list import ProjectList
from .project_ticket_request import ProjectTicketRequest
from .project_ticket_request_operation import ProjectTicketRequestOperation
from .project_ticket_request_query import ProjectTicketRequestQuery
from .project_used import ProjectUsed
from .publish import Publish
from .publish_auth import PublishAuth
from .publish_protocol_type_0 import PublishProtocolType0
from .publish_service import PublishService
from .put_service import PutService
from .put_service_protocol_type_0 import PutServiceProtocolType0
from .put_service_readiness_type_0 import PutServiceReadinessType0
from .put_service_restart import PutServiceRestart
from .put_service_stop_signal import PutServiceStopSignal
from .quota import Quota
from .quota_allowed import QuotaAllowed
from .quota_used import QuotaUsed
from .restore import Restore
from .restore_backup import RestoreBackup
from .restore_box import RestoreBox
from .scrub import Scrub
from .scrub_status import ScrubStatus
from .service import Service
from .service_history_item import ServiceHistoryItem
from .service_instance import ServiceInstance
from .service_instance_health import ServiceInstanceHealth
from .service_instance_last_exit_type_0 import ServiceInstanceLastExitType0
from .service_list import ServiceList
from .service_logs import ServiceLogs
from .service_logs_encoding import ServiceLogsEncoding
from .service_preview import ServicePreview
from .service_preview_health import ServicePreviewHealth
from .service_preview_isolation import ServicePreviewIsolation
from .service_preview_last_exit_type_0 import ServicePreviewLastExitType0
from .service_preview_state import ServicePreviewState
from .service_spec import ServiceSpec
from .service_spec_env import ServiceSpecEnv
from .service_spec_protocol import ServiceSpecProtocol
from .service_spec_readiness_type_0 import ServiceSpecReadinessType0
from .service_spec_restart import ServiceSpecRestart
from .service_state import ServiceState
from .session import Session
from .session_list import SessionList
from .shares import Shares
from .shares_additional_property import SharesAdditionalProperty
from .shares_additional_property_by_item import SharesAdditionalPropertyByItem
from .shares_additional_property_rule import SharesAdditionalPropertyRule
from .sign_in import SignIn
from .sign_in_link import SignInLink
from .sign_in_link_token import SignInLinkToken
from .snapshot import Snapshot
from .snapshot_data_item import SnapshotDataItem
from .snapshot_diff import SnapshotDiff
from .snapshot_diff_changes_item import SnapshotDiffChangesItem
from .snapshot_diff_changes_item_kind import SnapshotDiffChangesItemKind
from .snapshot_list import SnapshotList
from .storage import Storage
from .storage_bases_item import StorageBasesItem
from .storage_boxes_item import StorageBoxesItem
from .storage_boxes_item_snapshots_item import StorageBoxesItemSnapshotsItem
from .storage_cells_item import StorageCellsItem
from .storage_cells_item_pool import StorageCellsItemPool
from .storage_cells_item_pool_data import StorageCellsItemPoolData
from .storage_cells_item_pool_device_errors import StorageCellsItemPoolDeviceErrors
from .storage_cells_item_pool_metadata import StorageCellsItemPoolMetadata
from .storage_orphans_item import StorageOrphansItem
from .storage_pool_type_0 import StoragePoolType0
from .storage_pool_type_0_data import StoragePoolType0Data
from .storage_pool_type_0_device_errors import StoragePoolType0DeviceErrors
from .storage_pool_type_0_metadata import StoragePoolType0Metadata
from .storage_projects_item import StorageProjectsItem
from .storage_volumes_item import StorageVolumesItem
from .storage_volumes_item_snapshots_item import StorageVolumesItemSnapshotsItem
from .stream_exec_start import StreamExecStart
from .tags import Tags
from .ticket import Ticket
from .ticket_request import TicketRequest
from .ticket_request_operation import TicketRequestOperation
from .ticket_request_query import TicketRequestQuery
from .token import Token
from .token_list import TokenList
from .unpack_report import UnpackReport
from .unpack_report_refused_item import UnpackReportRefusedItem
from .unpublish import Unpublish
from .update_box import UpdateBox
from .update_box_protocol_type_0 import UpdateBoxProtocolType0
from .update_box_url_settings_type_0 import UpdateBoxUrlSettingsType0
from .update_box_url_settings_type_0_auth_type_0 import (
    UpdateBoxUrlSettingsType0AuthType0,
)
from .update_quota import UpdateQuota
from .update_quota_allowed_type_0 import UpdateQuotaAllowedType0
from .update_quota_used import UpdateQuotaUsed
from .update_volume import UpdateVolume
from .url_ticket import UrlTicket
from .url_ticket_request import UrlTicketRequest
from .version import Version
from .volume import Volume
from .volume_attachments_item import VolumeAttachmentsItem
from .volume_backup_schedule_type_0 import VolumeBackupScheduleType0
from .volume_list import VolumeList

__all__ = (
    "Attach",
    "AuditEntry",
    "AuditList",
    "Backup",
    "BackupList",
    "BackupSchedule",
    "BackupStatus",
    "Base",
    "BaseList",
    "BaseUsedByType0",
    "BaseUsedByType0BoxesItem",
    "Box",
    "BoxConfig",
    "BoxConfigInput",
    "BoxDataMountsItem",
    "BoxList",
    "BoxMetrics",
    "BoxMetricsCpu",
    "BoxMetricsHistory",
    "BoxMetricsMemory",
    "BoxMetricsNetworkType0",
    "BoxMetricsPids",
    "BoxMetricsPoint",
    "BoxMetricsStorage",
    "BoxProtocol",
    "BoxReason",
    "BoxState",
    "BoxStatus",
    "BoxUrlSettings",
    "BoxUrlSettingsAuth",
    "Config",
    "ConfigDefaults",
    "ConfigDefaultsQuota",
    "ConfigDrivers",
    "CreateBase",
    "CreateBox",
    "CreateBoxDataMountsType0Item",
    "CreateBoxProtocolType0",
    "CreateBoxSnapshot",
    "CreateBoxUrlSettingsType0",
    "CreateBoxUrlSettingsType0AuthType0",
    "CreateSnapshot",
    "CreateToken",
    "CreateVolume",
    "CreatedToken",
    "DeployService",
    "DeployServiceIsolation",
    "Detach",
    "DirectoryCreate",
    "Environment",
    "ErrorCode",
    "Event",
    "EventActorType0",
    "EventData",
    "EventList",
    "Exec",
    "ExecEncoding",
    "ExecList",
    "ExecNextOffset",
    "ExecOutput",
    "ExecOutputEncoding",
    "ExecOutputStream",
    "ExecReason",
    "ExecRecord",
    "ExecRequest",
    "ExecRequestEncoding",
    "ExecSignal",
    "ExecSignalSignal",
    "ExecStatus",
    "FileContent",
    "FileContentEncoding",
    "FileContentType",
    "FileEntry",
    "FileEntryType",
    "FileList",
    "FileMove",
    "FileRestore",
    "FileWrite",
    "FileWriteEncoding",
    "GetBoxMetricsHistoryStepSeconds",
    "GetExecEncoding",
    "GetExecOutputEncoding",
    "GetExecOutputStream",
    "GetOpenApiResponse200",
    "GetServiceLogsEncoding",
    "GetServiceLogsVersion",
    "Health",
    "HealthApi",
    "HealthBoxes",
    "HealthHost",
    "HealthHostCpu",
    "HealthHostMemory",
    "HealthHostStorage",
    "HealthHostStorageMountsItem",
    "HealthKubernetes",
    "HealthKubernetesNodesItem",
    "HealthProblemsItem",
    "HealthStatus",
    "Lease",
    "Limits",
    "Me",
    "MeOnBehalfOfType0",
    "OpenConsoleTyping",
    "Operation",
    "OperationErrorType0",
    "OperationStatus",
    "Permission",
    "Problem",
    "ProblemErrorsItem",
    "ProblemType",
    "ProblemTypeList",
    "Project",
    "ProjectAllowed",
    "ProjectBoxes",
    "ProjectList",
    "ProjectTicketRequest",
    "ProjectTicketRequestOperation",
    "ProjectTicketRequestQuery",
    "ProjectUsed",
    "Publish",
    "PublishAuth",
    "PublishProtocolType0",
    "PublishService",
    "PutService",
    "PutServiceProtocolType0",
    "PutServiceReadinessType0",
    "PutServiceRestart",
    "PutServiceStopSignal",
    "Quota",
    "QuotaAllowed",
    "QuotaUsed",
    "Restore",
    "RestoreBackup",
    "RestoreBox",
    "Scrub",
    "ScrubStatus",
    "Service",
    "ServiceHistoryItem",
    "ServiceInstance",
    "ServiceInstanceHealth",
    "ServiceInstanceLastExitType0",
    "ServiceList",
    "ServiceLogs",
    "ServiceLogsEncoding",
    "ServicePreview",
    "ServicePreviewHealth",
    "ServicePreviewIsolation",
    "ServicePreviewLastExitType0",
    "ServicePreviewState",
    "ServiceSpec",
    "ServiceSpecEnv",
    "ServiceSpecProtocol",
    "ServiceSpecReadinessType0",
    "ServiceSpecRestart",
    "ServiceState",
    "Session",
    "SessionList",
    "Shares",
    "SharesAdditionalProperty",
    "SharesAdditionalPropertyByItem",
    "SharesAdditionalPropertyRule",
    "SignIn",
    "SignInLink",
    "SignInLinkToken",
    "Snapshot",
    "SnapshotDataItem",
    "SnapshotDiff",
    "SnapshotDiffChangesItem",
    "SnapshotDiffChangesItemKind",
    "SnapshotList",
    "Storage",
    "StorageBasesItem",
    "StorageBoxesItem",
    "StorageBoxesItemSnapshotsItem",
    "StorageCellsItem",
    "StorageCellsItemPool",
    "StorageCellsItemPoolData",
    "StorageCellsItemPoolDeviceErrors",
    "StorageCellsItemPoolMetadata",
    "StorageOrphansItem",
    "StoragePoolType0",
    "StoragePoolType0Data",
    "StoragePoolType0DeviceErrors",
    "StoragePoolType0Metadata",
    "StorageProjectsItem",
    "StorageVolumesItem",
    "StorageVolumesItemSnapshotsItem",
    "StreamExecStart",
    "Tags",
    "Ticket",
    "TicketRequest",
    "TicketRequestOperation",
    "TicketRequestQuery",
    "Token",
    "TokenList",
    "UnpackReport",
    "UnpackReportRefusedItem",
    "Unpublish",
    "UpdateBox",
    "UpdateBoxProtocolType0",
    "UpdateBoxUrlSettingsType0",
    "UpdateBoxUrlSettingsType0AuthType0",
    "UpdateQuota",
    "UpdateQuotaAllowedType0",
    "UpdateQuotaUsed",
    "UpdateVolume",
    "UrlTicket",
    "UrlTicketRequest",
    "Version",
    "Volume",
    "VolumeAttachmentsItem",
    "VolumeBackupScheduleType0",
    "VolumeList",
)
