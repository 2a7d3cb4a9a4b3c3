"""Every operation of the API, as a function that makes its request; nothing is sent by it."""

from .bases.create_base import create_base
from .bases.delete_base import delete_base
from .bases.get_base import get_base
from .bases.list_bases import list_bases
from .bases.list_shared_bases import list_shared_bases
from .boxes.create_box import create_box
from .boxes.create_box_snapshot import create_box_snapshot
from .boxes.create_url_ticket import create_url_ticket
from .boxes.delete_box import delete_box
from .boxes.delete_box_snapshot import delete_box_snapshot
from .boxes.diff_box_snapshot import diff_box_snapshot
from .boxes.get_box import get_box
from .boxes.get_box_metrics import get_box_metrics
from .boxes.get_box_metrics_history import get_box_metrics_history
from .boxes.get_box_snapshot import get_box_snapshot
from .boxes.lease_box import lease_box
from .boxes.list_box_snapshots import list_box_snapshots
from .boxes.list_boxes import list_boxes
from .boxes.publish_box import publish_box
from .boxes.restore_box import restore_box
from .boxes.resume_box import resume_box
from .boxes.stop_box import stop_box
from .boxes.unpublish_box import unpublish_box
from .boxes.update_box import update_box
from .data.attach_volume import attach_volume
from .data.create_backup import create_backup
from .data.create_volume import create_volume
from .data.create_volume_snapshot import create_volume_snapshot
from .data.delete_backup import delete_backup
from .data.delete_volume import delete_volume
from .data.delete_volume_snapshot import delete_volume_snapshot
from .data.detach_volume import detach_volume
from .data.get_backup import get_backup
from .data.get_volume import get_volume
from .data.get_volume_snapshot import get_volume_snapshot
from .data.list_backups import list_backups
from .data.list_stored_backups import list_stored_backups
from .data.list_volume_snapshots import list_volume_snapshots
from .data.list_volumes import list_volumes
from .data.restore_backup import restore_backup
from .data.restore_volume import restore_volume
from .data.update_backup_schedule import update_backup_schedule
from .data.update_volume import update_volume
from .events.list_audit import list_audit
from .events.list_events import list_events
from .exec_.create_exec import create_exec
from .exec_.get_exec import get_exec
from .exec_.get_exec_output import get_exec_output
from .exec_.list_execs import list_execs
from .exec_.signal_exec import signal_exec
from .files.delete_file import delete_file
from .files.list_files import list_files
from .files.make_directory import make_directory
from .files.move_file import move_file
from .files.read_archive import read_archive
from .files.read_file import read_file
from .files.restore_file import restore_file
from .files.stat_file import stat_file
from .files.write_archive import write_archive
from .files.write_file import write_file
from .quota.get_quota import get_quota
from .quota.list_projects import list_projects
from .quota.update_quota import update_quota
from .services.delete_service import delete_service
from .services.deploy_service import deploy_service
from .services.discard_service import discard_service
from .services.get_service import get_service
from .services.get_service_logs import get_service_logs
from .services.list_services import list_services
from .services.promote_service import promote_service
from .services.publish_service import publish_service
from .services.put_service import put_service
from .services.rollback_service import rollback_service
from .services.start_service import start_service
from .services.stop_service import stop_service
from .services.unpublish_service import unpublish_service
from .streams.create_project_ticket import create_project_ticket
from .streams.create_ticket import create_ticket
from .streams.delete_session import delete_session
from .streams.list_sessions import list_sessions
from .streams.open_console import open_console
from .streams.open_port import open_port
from .streams.stream_exec import stream_exec
from .system.get_config import get_config
from .system.get_health import get_health
from .system.get_open_api import get_open_api
from .system.get_operation import get_operation
from .system.get_problem import get_problem
from .system.get_storage import get_storage
from .system.get_version import get_version
from .system.list_problems import list_problems
from .system.start_scrub import start_scrub
from .tokens.create_sign_in_link import create_sign_in_link
from .tokens.create_token import create_token
from .tokens.delete_token import delete_token
from .tokens.get_me import get_me
from .tokens.get_sign_in_link import get_sign_in_link
from .tokens.list_tokens import list_tokens
from .tokens.sign_in import sign_in
from .tokens.sign_out import sign_out

__all__ = (
    "attach_volume",
    "create_backup",
    "create_base",
    "create_box",
    "create_box_snapshot",
    "create_exec",
    "create_project_ticket",
    "create_sign_in_link",
    "create_ticket",
    "create_token",
    "create_url_ticket",
    "create_volume",
    "create_volume_snapshot",
    "delete_backup",
    "delete_base",
    "delete_box",
    "delete_box_snapshot",
    "delete_file",
    "delete_service",
    "delete_session",
    "delete_token",
    "delete_volume",
    "delete_volume_snapshot",
    "deploy_service",
    "detach_volume",
    "diff_box_snapshot",
    "discard_service",
    "get_backup",
    "get_base",
    "get_box",
    "get_box_metrics",
    "get_box_metrics_history",
    "get_box_snapshot",
    "get_config",
    "get_exec",
    "get_exec_output",
    "get_health",
    "get_me",
    "get_open_api",
    "get_operation",
    "get_problem",
    "get_quota",
    "get_service",
    "get_service_logs",
    "get_sign_in_link",
    "get_storage",
    "get_version",
    "get_volume",
    "get_volume_snapshot",
    "lease_box",
    "list_audit",
    "list_backups",
    "list_bases",
    "list_box_snapshots",
    "list_boxes",
    "list_events",
    "list_execs",
    "list_files",
    "list_problems",
    "list_projects",
    "list_services",
    "list_sessions",
    "list_shared_bases",
    "list_stored_backups",
    "list_tokens",
    "list_volume_snapshots",
    "list_volumes",
    "make_directory",
    "move_file",
    "open_console",
    "open_port",
    "promote_service",
    "publish_box",
    "publish_service",
    "put_service",
    "read_archive",
    "read_file",
    "restore_backup",
    "restore_box",
    "restore_file",
    "restore_volume",
    "resume_box",
    "rollback_service",
    "sign_in",
    "sign_out",
    "signal_exec",
    "start_scrub",
    "start_service",
    "stat_file",
    "stop_box",
    "stop_service",
    "stream_exec",
    "unpublish_box",
    "unpublish_service",
    "update_backup_schedule",
    "update_box",
    "update_quota",
    "update_volume",
    "write_archive",
    "write_file",
)
