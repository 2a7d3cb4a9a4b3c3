"""Prints as JSON what the account of the environment has: inventory.py REGION."""

import json
import sys

import boto3


def client(service):
    return boto3.client(service, region_name=sys.argv[1])


def list_functions():
    functions = client("lambda")
    for function in functions.list_functions()["Functions"]:
        policy = functions.get_policy(FunctionName=function["FunctionName"])["Policy"]
        yield {**function, "Policy": json.loads(policy)}


def list_apis():
    gateway = client("apigatewayv2")
    for api in gateway.get_apis()["Items"]:
        parts = {"ApiId": api["ApiId"]}
        yield {
            **api,
            "Routes": gateway.get_routes(**parts)["Items"],
            "Integrations": gateway.get_integrations(**parts)["Items"],
            "Stages": gateway.get_stages(**parts)["Items"],
        }


def list_domains():
    gateway = client("apigatewayv2")
    for domain in gateway.get_domain_names()["Items"]:
        yield {**domain, "Mappings": gateway.get_api_mappings(DomainName=domain["DomainName"])["Items"]}


def list_roles():
    iam = client("iam")
    for role in iam.list_roles()["Roles"]:
        name = role["RoleName"]
        names = iam.list_role_policies(RoleName=name)["PolicyNames"]
        policies = {each: iam.get_role_policy(RoleName=name, PolicyName=each)["PolicyDocument"] for each in names}
        attached = iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]
        yield {**role, "Policies": policies, "AttachedPolicies": attached}


def list_secrets():
    secrets = client("secretsmanager")
    for secret in secrets.list_secrets(IncludePlannedDeletion=True)["SecretList"]:
        value = secrets.get_secret_value(SecretId=secret["Name"])
        yield {"Name": secret["Name"], "VersionId": value["VersionId"], "Value": json.loads(value["SecretString"])}


def list_parameters():
    pages = client("ssm").get_paginator("describe_parameters").paginate()
    names = [parameter["Name"] for page in pages for parameter in page["Parameters"]]
    return {name: client("ssm").get_parameter(Name=name)["Parameter"]["Value"] for name in names}


def list_stacks():
    formation = client("cloudformation")
    for stack in formation.describe_stacks()["Stacks"]:
        resources = formation.list_stack_resources(StackName=stack["StackName"])["StackResourceSummaries"]
        yield {**stack, "Resources": {each["LogicalResourceId"]: each["ResourceType"] for each in resources}}


def list_zones():
    names = client("route53")
    for zone in names.list_hosted_zones()["HostedZones"]:
        records = names.list_resource_record_sets(HostedZoneId=zone["Id"])["ResourceRecordSets"]
        yield {**zone, "Records": records}


print(
    json.dumps(
        {
            "functions": list(list_functions()),
            "apis": list(list_apis()),
            "domains": list(list_domains()),
            "roles": list(list_roles()),
            "secrets": list(list_secrets()),
            "parameters": list_parameters(),
            "stacks": list(list_stacks()),
            "alarms": client("cloudwatch").describe_alarms()["MetricAlarms"],
            "buckets": [bucket["Name"] for bucket in client("s3").list_buckets()["Buckets"]],
            "zones": list(list_zones()),
            "logs": client("logs").describe_log_groups()["logGroups"],
        },
        default=str,
    )
)
