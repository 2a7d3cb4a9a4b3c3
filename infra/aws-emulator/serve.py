"""Runs moto's server on loopback: serve.py PORT. Prints the access key of an administrator, and "ready" once it listens.

CloudFormation of moto knows no resources of API Gateway v2 and no alarms, though its services do. Here it creates them by calling
those services, with the properties as they are resolved; bucket policies and the parts of a distribution are taken for created. It
changes none of them later: of these types a deployment to the same stage changes a property only where a setting of the stage changed.
Its check of templates (cfn-lint) fails on warnings too; here on errors alone.
"""

import json
import re
import sys
import threading

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from moto.cloudformation import models, utils
from moto.core import DEFAULT_ACCOUNT_ID
from moto.core.common_models import CloudFormationModel
from moto.iam.models import iam_backends
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

PORT = int(sys.argv[1])
ITSELF = "emulator-itself"


def client(service, region):
    return boto3.client(
        service,
        region_name=region,
        endpoint_url=f"http://127.0.0.1:{PORT}",
        aws_access_key_id=KEY.access_key_id,
        aws_secret_access_key=KEY.secret_access_key,
        config=Config(user_agent_extra=ITSELF),
    )


def one_at_a_time(application):
    """Handles a request after another, but for those that the server sends itself: moto's state is not made for threads."""
    lock = threading.Lock()

    def handle(environ, start_response):
        if ITSELF in environ.get("HTTP_USER_AGENT", ""):
            return application(environ, start_response)
        with lock:
            return list(application(environ, start_response))

    return handle


def create_administrator():
    """Makes the user that CloudFormation acts as, which may everything also once the server checks rights."""
    iam = iam_backends[DEFAULT_ACCOUNT_ID]["aws"]
    iam.create_user("aws", "emulator")
    everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    iam.put_user_policy("emulator", "everything", json.dumps(everything))
    return iam.create_access_key("emulator")


def define_resource(kind, create, remove=lambda region, properties, identity: None):
    """Lets stacks have resources of a type: `create(region, properties)` returns the id and the attributes of one."""

    def create_from(cls, resource_name, cloudformation_json, account_id, region_name, **_):
        resource = cls()
        resource.properties = without_nulls(cloudformation_json["Properties"])
        resource.physical_resource_id, resource.attributes = create(region_name, resource.properties)
        return resource

    def update_from(cls, original_resource, new_resource_name, cloudformation_json, account_id, region_name):
        return original_resource

    def delete(self, account_id, region_name):
        # moto deletes in any order, so that what held a resource may be gone before it.
        try:
            remove(region_name, self.properties, self.physical_resource_id)
        except ClientError as error:
            if error.response["Error"]["Code"] != "NotFoundException":
                raise

    members = {
        # moto takes the service from the name of the module.
        "__module__": "moto.cloudformation.resources",
        "cloudformation_type": staticmethod(lambda: kind),
        "cloudformation_name_type": staticmethod(lambda: ""),
        "create_from_cloudformation_json": classmethod(create_from),
        "update_from_cloudformation_json": classmethod(update_from),
        "get_cfn_attribute": lambda self, name: self.attributes[name],
        "delete": delete,
    }
    return type(CloudFormationModel)(kind.replace("::", ""), (CloudFormationModel,), members)


def without_nulls(value):
    """Drops what AWS::NoValue stands for."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def create_in_gateway(call, identity):
    def create(region, properties):
        answer = getattr(client("apigatewayv2", region), call)(**properties)
        return answer[identity], answer

    return create


def create_domain(region, properties):
    answer = client("apigatewayv2", region).create_domain_name(**properties)
    target = f"d-emulated.execute-api.{region}.amazonaws.com"
    return answer["DomainName"], {"RegionalDomainName": target, "RegionalHostedZoneId": "ZEMULATED"}


def create_alarm(region, properties):
    client("cloudwatch", region).put_metric_alarm(**properties)
    return properties["AlarmName"], {}


def check_template(template, lint=utils.validate_template_cfn_lint, checked={}):
    """Returns the errors of cfn-lint, which takes seconds: not again for a template that differs in the time of its bundle alone."""
    text = re.sub(r"/\d{13}-[0-9TZ:.-]+/", "/", template)
    if text not in checked:
        checked[text] = [match for match in lint(template) if match.rule.id.startswith("E")]
    return checked[text]


def delete_stack(self, name, delete=models.CloudFormationBackend.delete_stack):
    """Deletes a stack that an update gave exports, which moto did not note."""
    for stack in self.stacks.values():
        if name in (stack.name, stack.stack_id):
            self.exports.update({export.name: export for export in stack.exports})
    return delete(self, name)


KEY = create_administrator()
# Subclasses that are not referred to would be collected.
RESOURCES = [
    define_resource(
        "AWS::ApiGatewayV2::Api",
        create_in_gateway("create_api", "ApiId"),
        lambda region, _, identity: client("apigatewayv2", region).delete_api(ApiId=identity),
    ),
    # The parts of an API end with it.
    define_resource("AWS::ApiGatewayV2::Stage", create_in_gateway("create_stage", "StageName")),
    define_resource("AWS::ApiGatewayV2::Integration", create_in_gateway("create_integration", "IntegrationId")),
    define_resource("AWS::ApiGatewayV2::Route", create_in_gateway("create_route", "RouteId")),
    define_resource(
        "AWS::ApiGatewayV2::DomainName",
        create_domain,
        lambda region, _, identity: client("apigatewayv2", region).delete_domain_name(DomainName=identity),
    ),
    define_resource(
        "AWS::ApiGatewayV2::ApiMapping",
        create_in_gateway("create_api_mapping", "ApiMappingId"),
        lambda region, properties, identity: client("apigatewayv2", region).delete_api_mapping(
            ApiMappingId=identity, DomainName=properties["DomainName"]
        ),
    ),
    define_resource(
        "AWS::CloudWatch::Alarm",
        create_alarm,
        lambda region, _, identity: client("cloudwatch", region).delete_alarms(AlarmNames=[identity]),
    ),
    define_resource("AWS::S3::BucketPolicy", lambda _, properties: (f"policy-of-{properties['Bucket']}", {})),
    define_resource("AWS::CloudFront::OriginAccessControl", lambda *_: ("EACCESS", {})),
    define_resource("AWS::CloudFront::ResponseHeadersPolicy", lambda *_: ("EHEADERS", {})),
    define_resource(
        "AWS::CloudFront::Function", lambda *_: ("EFUNCTION", {"FunctionMetadata.FunctionARN": "arn:aws:cloudfront::e"})
    ),
    define_resource(
        "AWS::CloudFront::Distribution", lambda *_: ("EEMULATED", {"DomainName": "demulated.cloudfront.net"})
    ),
]
models.validate_template_cfn_lint = check_template
models.CloudFormationBackend.delete_stack = delete_stack

application = one_at_a_time(DomainDispatcherApplication(create_backend_app))
server = make_server("127.0.0.1", PORT, application, threaded=True)
print(f"{KEY.access_key_id} {KEY.secret_access_key}\nready", flush=True)
server.serve_forever()
